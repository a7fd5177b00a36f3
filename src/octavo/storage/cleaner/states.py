"""What the cleaner may do with each partition: clean it, abort a cleaning in progress, or leave it alone."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from octavo.errors import CleaningAborted
from octavo.format.names import TopicPartition
from octavo.system.signals import Signal

_STOP_SECONDS = 60  # a cleaning may hang on a disk, but closing must not
_log = logging.getLogger(__name__)


class CleanerStates:
    """Thread-safe. A partition may be in progress, paused by any number of callers, or marked uncleanable.

    A cleaning that was interrupted before it could call `end` does not count: its thread has ended, or is the caller's.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # the garbage collector may run the end of an interrupted `paused` at any time
        self._changed = Signal()
        self._in_progress: dict[TopicPartition, threading.Thread] = {}
        self._paused: dict[TopicPartition, int] = {}
        self._uncleanable: dict[TopicPartition, str] = {}
        self._stopped = False

    @property
    def uncleanable(self) -> dict[TopicPartition, str]:
        """The partitions whose cleaning failed, and why; they are left alone until they are opened again."""
        with self._lock:
            return dict(self._uncleanable)

    def begin(self, topic_partition: TopicPartition) -> bool:
        """Mark a partition as in progress; False if it already is, is paused or uncleanable, or the cleaner has
        stopped."""
        with self._lock:
            is_barred = topic_partition in self._paused or topic_partition in self._uncleanable
            if self._stopped or is_barred or self._is_running(topic_partition):
                return False
            self._in_progress[topic_partition] = threading.current_thread()
            return True

    def check(self, topic_partition: TopicPartition) -> None:
        """Raise CleaningAborted if the partition's cleaning must end."""
        if self._stopped or topic_partition in self._paused:
            raise CleaningAborted(f"the cleaning of {topic_partition} was aborted")

    def end(self, topic_partition: TopicPartition) -> None:
        """Mark the cleaning of a partition as over, and wake the threads that wait for it."""
        self._in_progress.pop(topic_partition, None)
        self._changed.notify()

    def mark_uncleanable(self, topic_partition: TopicPartition, reason: str) -> None:
        with self._lock:
            self._uncleanable[topic_partition] = reason

    def keep_marks(self, topic_partitions: Collection[TopicPartition]) -> None:
        """Keep only the marks of these partitions: the others are no longer open."""
        with self._lock:
            kept = self._uncleanable.keys() & set(topic_partitions)
            self._uncleanable = {topic_partition: self._uncleanable[topic_partition] for topic_partition in kept}

    @contextmanager
    def paused(self, topic_partitions: Iterable[TopicPartition]) -> Iterator[None]:
        """Keep the partitions from being cleaned within the block; a cleaning in progress is aborted first."""
        counted: list[TopicPartition] = []
        try:
            for topic_partition in topic_partitions:
                counted.append(topic_partition)
                with self._lock:
                    self._paused[topic_partition] = self._paused.get(topic_partition, 0) + 1
            self._changed.wait(lambda: not any(map(self._is_running, counted)))
            yield
        finally:
            with self._lock:
                for topic_partition in counted:
                    left = self._paused.pop(topic_partition, 1) - 1
                    if left:
                        self._paused[topic_partition] = left

    def stop(self) -> None:
        """Abort all cleanings, start no more, and wait up to a minute for those in progress to end."""
        self._stopped = True
        if not self._changed.wait(lambda: not any(map(self._is_running, list(self._in_progress))), _STOP_SECONDS):
            _log.warning("the cleaner is still running after %d seconds; closing without waiting for it", _STOP_SECONDS)

    def _is_running(self, topic_partition: TopicPartition) -> bool:
        thread = self._in_progress.get(topic_partition)
        return thread is not None and thread is not threading.current_thread() and thread.is_alive()
