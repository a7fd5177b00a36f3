"""What the cleaner does with each partition now: nothing, a run, a run that is to end, or nothing until it is told."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from octavo.errors import CleaningAborted
from octavo.format.names import TopicPartition
from octavo.system.signals import Signal

_STOP_SECONDS = 60  # a run may hang on a disk: the end does not
_log = logging.getLogger(__name__)


class CleanerStates:
    """Thread-safe. A partition is in progress, paused by some who each resume it, or marked uncleanable, or none.

    A run that an interrupt ended before it could say so does not count: its thread does something else by now.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a `paused` that was interrupted may be ended by the garbage collector
        self._changed = Signal()
        self._in_progress: dict[TopicPartition, threading.Thread] = {}
        self._paused: dict[TopicPartition, int] = {}
        self._uncleanable: dict[TopicPartition, str] = {}
        self._stopped = False

    @property
    def uncleanable(self) -> dict[TopicPartition, str]:
        """The partitions on which a run failed, and why; they are left alone until they are opened anew."""
        with self._lock:
            return dict(self._uncleanable)

    def begin(self, name: TopicPartition) -> bool:
        """Mark a run on a partition, unless it is in progress, paused or uncleanable, or all is over."""
        with self._lock:
            if self._stopped or self._is_running(name) or name in self._paused or name in self._uncleanable:
                return False
            self._in_progress[name] = threading.current_thread()
            return True

    def check(self, name: TopicPartition) -> None:
        """Raise CleaningAborted if a partition's run is to end."""
        if self._stopped or name in self._paused:
            raise CleaningAborted(f"the cleaning of {name} was aborted")

    def end(self, name: TopicPartition) -> None:
        """The run on a partition is over: those who wait for that go on."""
        self._in_progress.pop(name, None)
        self._changed.notify()

    def mark_uncleanable(self, name: TopicPartition, reason: str) -> None:
        with self._lock:
            self._uncleanable[name] = reason

    def keep_marks(self, names: Collection[TopicPartition]) -> None:
        """Forget the marks of all other partitions: they are gone."""
        with self._lock:
            self._uncleanable = {name: reason for name, reason in self._uncleanable.items() if name in names}

    @contextmanager
    def paused(self, names: Iterable[TopicPartition]) -> Iterator[None]:
        """Within the block no run touches the partitions; one that does is aborted first."""
        counted: list[TopicPartition] = []
        try:
            for name in names:
                counted.append(name)
                with self._lock:
                    self._paused[name] = self._paused.get(name, 0) + 1
            self._changed.wait(lambda: not any(map(self._is_running, counted)))
            yield
        finally:
            with self._lock:
                for name in counted:
                    left = self._paused.pop(name, 1) - 1
                    if left:
                        self._paused[name] = left

    def stop(self) -> None:
        """Abort all runs, and begin no other."""
        self._stopped = True
        if not self._changed.wait(lambda: not any(map(self._is_running, list(self._in_progress))), _STOP_SECONDS):
            _log.warning("the cleaner still runs after %d seconds, and is left", _STOP_SECONDS)

    def _is_running(self, name: TopicPartition) -> bool:
        thread = self._in_progress.get(name)
        return thread is not None and thread is not threading.current_thread() and thread.is_alive()
