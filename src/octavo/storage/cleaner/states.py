"""What the cleaner does with each partition now: nothing, a run, a run that is to end, or nothing until it is told."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from octavo.errors import OctavoError
from octavo.format.names import TopicPartition


class CleaningAborted(OctavoError):
    """The run was ended from outside, or the log has changed under it: nothing of it was taken over."""


class CleanerStates:
    """Thread-safe. A partition is in progress, paused by some who each resume it, or marked uncleanable, or none."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._in_progress: set[TopicPartition] = set()
        self._paused: dict[TopicPartition, int] = {}
        self._uncleanable: dict[TopicPartition, str] = {}
        self._stopped = False

    @property
    def uncleanable(self) -> dict[TopicPartition, str]:
        """The partitions on which a run failed, and why; they are left alone until they are opened anew."""
        with self._changed:
            return dict(self._uncleanable)

    def begin(self, name: TopicPartition) -> bool:
        """Mark a run on a partition, unless it is in progress, paused or uncleanable, or all is over."""
        with self._changed:
            if self._stopped or name in self._in_progress or name in self._paused or name in self._uncleanable:
                return False
            self._in_progress.add(name)
            return True

    def check(self, name: TopicPartition) -> None:
        """Raise CleaningAborted if a partition's run is to end."""
        with self._changed:
            if self._stopped or name in self._paused:
                raise CleaningAborted(f"the cleaning of {name} was aborted")

    def end(self, name: TopicPartition) -> None:
        """The run on a partition is over: those who wait for that go on."""
        with self._changed:
            self._in_progress.discard(name)
            self._changed.notify_all()

    def mark_uncleanable(self, name: TopicPartition, reason: str) -> None:
        with self._changed:
            self._uncleanable[name] = reason

    def keep_marks(self, names: Collection[TopicPartition]) -> None:
        """Forget the marks of all other partitions: they are gone."""
        with self._changed:
            self._uncleanable = {name: reason for name, reason in self._uncleanable.items() if name in names}

    @contextmanager
    def paused(self, names: Iterable[TopicPartition]) -> Iterator[None]:
        """Within the block no run touches the partitions; one that does is aborted first."""
        names = list(names)
        with self._changed:
            for name in names:
                self._paused[name] = self._paused.get(name, 0) + 1
            self._changed.wait_for(lambda: not self._in_progress.intersection(names))
        try:
            yield
        finally:
            with self._changed:
                for name in names:
                    self._paused[name] -= 1
                    if not self._paused[name]:
                        del self._paused[name]

    def stop(self) -> None:
        """Abort all runs, and begin no other."""
        with self._changed:
            self._stopped = True
            self._changed.wait_for(lambda: not self._in_progress)
