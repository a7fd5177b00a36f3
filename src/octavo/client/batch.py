"""A producer's batch: open, then closed, then done, with all that waits for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import NamedTuple

from octavo import kernels
from octavo.kernels import layout

_log = logging.getLogger(__name__)

Callback = Callable[[], None]

# What a done batch has instead of its bytes: nothing can be added to it.
_CLOSED = bytearray(layout.BATCH_OVERHEAD)
kernels.close_batch(_CLOSED)


class BatchLimits(NamedTuple):
    """How far a batch may grow: `write_limit` bytes by an estimate that the codec's `ratio` gives, 0 without codec."""

    write_limit: int
    ratio: float


class EncodedBatch(NamedTuple):
    """A closed batch as it goes into the log, with producer, sequence and CRC; `header` before the log changed it."""

    view: memoryview
    header: bytes

    @classmethod
    def of(cls, data: bytearray, size: int) -> EncodedBatch:
        view = memoryview(data)[:size]
        return cls(view, bytes(view[: layout.BATCH_OVERHEAD]))

    def restore(self) -> memoryview:
        """The bytes as they were before an append that failed."""
        self.view[: layout.BATCH_OVERHEAD] = self.header
        return self.view


class ProducerBatch:
    """Records of one partition on their way into the log.

    `data` is the open batch that `kernels.append_record` fills. Whoever closes it reads the fields; only the holder of
    the partition's lock closes it, completes it or splits it. `push` hurries it into the log.
    """

    __slots__ = (
        "_callbacks",
        "attempts",
        "base_offset",
        "completed",
        "created_ms",
        "data",
        "encoded",
        "error",
        "is_done",
        "log_append_time",
        "partition",
        "parts",
        "push",
        "ratio",
        "retry_ms",
        "topic",
        "write_limit",
    )

    def __init__(
        self,
        topic: str,
        partition: int,
        limits: BatchLimits,
        created_ms: int,
        push: Callable[[], None],
        completed: threading.Condition,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.write_limit, self.ratio = limits
        self.created_ms = created_ms
        self.push = push
        self.data = bytearray(self.write_limit)
        self.encoded: EncodedBatch | None = None
        self.attempts = 0
        self.retry_ms = 0  # not before that time again
        self.is_done = False
        self.error: Exception | None = None
        self.base_offset = -1
        self.log_append_time = layout.NO_TIMESTAMP
        self.parts: list[tuple[int, ProducerBatch]] | None = None  # after a split, with the place of each one's first
        self._callbacks: list[Callback] | None = None
        self.completed = completed

    @property
    def count(self) -> int:
        return int.from_bytes(self.data[layout.RECORDS_COUNT_POSITION : layout.BATCH_OVERHEAD])

    @property
    def filled(self) -> int:
        """The bytes of header and records, before compression."""
        return int.from_bytes(self.data[layout.SIZE_POSITION : layout.LOG_OVERHEAD]) + layout.LOG_OVERHEAD

    @property
    def estimated_size(self) -> int:
        """What the batch will have in the log, by the codec's ratio; a rounding error away from what decides."""
        records = self.filled - layout.BATCH_OVERHEAD
        return layout.BATCH_OVERHEAD + (int(records * self.ratio * 1.05) if self.ratio else records)

    @property
    def is_full(self) -> bool:
        return self.estimated_size >= self.write_limit

    def close(self) -> None:
        kernels.close_batch(self.data)

    def complete(self, base_offset: int, log_append_time: int) -> list[Callback]:
        """The batch is in the log; returns what is to be called, once no lock is held."""
        self.base_offset, self.log_append_time = base_offset, log_append_time
        return self._finish()

    def fail(self, error: Exception) -> list[Callback]:
        """The batch will not be in the log; returns what is to be called, once no lock is held."""
        self.error = error
        return self._finish()

    def split_into(self, parts: list[tuple[int, ProducerBatch]]) -> None:
        """The parts stand for the batch from now on."""
        with self.completed:
            self.parts = parts
            self.data, self.encoded = _CLOSED, None
            callbacks, self._callbacks = self._callbacks, None
            self.completed.notify_all()
        for callback in callbacks or ():
            # Which part a callback waits for is not known: it runs when all are done.
            _when_all_done([part for _, part in parts], callback)

    def when_done(self, callback: Callback) -> None:
        """Call once the batch is done: on the thread that completes it, or now."""
        with self.completed:
            if not self.is_done:
                if self._callbacks is None:
                    self._callbacks = []
                self._callbacks.append(callback)
                return
        run_callbacks([callback])

    def wait(self, timeout: float | None) -> None:
        """Until it is done, or split; TimeoutError after `timeout` seconds."""
        if self.is_done or self.parts is not None:
            return
        self.push()
        with self.completed:
            if not self.completed.wait_for(lambda: self.is_done or self.parts is not None, timeout):
                raise TimeoutError(f"{self.topic}-{self.partition}: no answer after {timeout} seconds")

    def _finish(self) -> list[Callback]:
        with self.completed:
            self.is_done = True
            self.data, self.encoded = _CLOSED, None
            callbacks, self._callbacks = self._callbacks, None
            self.completed.notify_all()
        return callbacks or []


def _when_all_done(batches: list[ProducerBatch], callback: Callback) -> None:
    waiting = len(batches)

    def one_done() -> None:
        nonlocal waiting
        waiting -= 1
        if not waiting:
            callback()

    for batch in batches:
        batch.when_done(one_done)


def run_callbacks(callbacks: list[Callback]) -> None:
    """Call each; one that fails is logged and keeps none of the others from running."""
    for callback in callbacks:
        try:
            callback()
        except Exception:
            _log.exception("a callback of a sent record failed")
