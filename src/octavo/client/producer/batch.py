"""A producer's batch: open, then closed, then done, with the callbacks that wait for it."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable

from octavo import kernels
from octavo.kernels import layout
from octavo.system.signals import Signal

_log = logging.getLogger(__name__)

Callback = Callable[[], None]
# A record's timestamp, key, value and encoded headers.
Sent = tuple[int, bytes | None, bytes | None, bytes]

# How long to wait for a batch before pushing it into the log again.
_HURRY_SECONDS = 0.1
# Replaces the bytes of a done batch: nothing can be added to it.
_CLOSED = bytearray(layout.BATCH_OVERHEAD)
kernels.close_batch(_CLOSED)


class ProducerBatch:
    """Records of one partition on their way into the log.

    `data` is the open batch that `kernels.append_record` fills, up to `write_limit` bytes as estimated by the codec's
    compression `ratio` (0 without a codec). Only the holder of the partition's lock closes, completes or splits it.
    `push` appends it to the log without waiting for linger.ms.

    `encoded` has the bytes for the log, with producer, sequence and CRC; `header` is a copy of their header, because an
    append changes it in place.

    An interrupt may come between any two steps: `is_done` and `parts` are set after everything they imply, and a
    callback is removed just before it is called.
    """

    __slots__ = (
        "attempts",
        "base_offset",
        "base_sequence",
        "callbacks",
        "completed",
        "created_ms",
        "data",
        "encoded",
        "error",
        "header",
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
        write_limit: int,
        ratio: float,
        created_ms: int,
        push: Callable[[], None],
        completed: Signal,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.write_limit, self.ratio = write_limit, ratio
        self.created_ms = created_ms
        self.push = push
        self.data = bytearray(self.write_limit)
        self.encoded: memoryview | None = None
        self.header = b""
        self.base_sequence = layout.NO_SEQUENCE
        self.attempts = 0
        self.retry_ms = 0  # do not try again before this time
        self.is_done = False
        self.error: Exception | None = None
        self.base_offset = -1
        self.log_append_time = layout.NO_TIMESTAMP
        self.parts: list[tuple[int, ProducerBatch]] | None = None  # each with the place of its first record
        self.callbacks: list[Callback] = []
        self.completed = completed

    @property
    def count(self) -> int:
        return int.from_bytes(self.data[layout.RECORDS_COUNT_POSITION : layout.BATCH_OVERHEAD])

    @property
    def filled(self) -> int:
        """The size of header and records, before compression."""
        return int.from_bytes(self.data[layout.SIZE_POSITION : layout.LOG_OVERHEAD]) + layout.LOG_OVERHEAD

    @property
    def estimated_size(self) -> int:
        """The estimated size in the log, by the codec's ratio; the kernel's own estimate may differ by rounding."""
        records = self.filled - layout.BATCH_OVERHEAD
        return layout.BATCH_OVERHEAD + (int(records * self.ratio * 1.05) if self.ratio else records)

    @property
    def is_full(self) -> bool:
        return self.estimated_size >= self.write_limit

    @property
    def is_settled(self) -> bool:
        """Whether it is finished: done, or replaced by its parts."""
        return self.is_done or self.parts is not None

    def add(self, record: Sent, max_bytes: int) -> int:
        """Add a record, and enlarge the buffer for it if necessary; returns its place, or why it was `Refused`."""
        limits = self.write_limit, self.ratio, max_bytes
        while (place := kernels.append_record(self.data, *record, *limits)) == layout.Refused.SHORT_BUFFER:
            self.data.extend(bytes(len(self.data)))
        return place

    def close(self) -> None:
        kernels.close_batch(self.data)

    def restore(self) -> memoryview:
        """The encoded bytes, without what a failed append changed."""
        assert self.encoded is not None
        self.encoded[: layout.BATCH_OVERHEAD] = self.header
        return self.encoded

    def complete(self, base_offset: int, log_append_time: int) -> None:
        """Record that the batch is in the log; call `run_callbacks` once no lock is held."""
        self.base_offset, self.log_append_time = base_offset, log_append_time
        self._finish()

    def fail(self, error: Exception) -> None:
        """Record that the batch will not be in the log; call `run_callbacks` once no lock is held."""
        self.error = error
        self._finish()

    def split_into(self, parts: list[tuple[int, ProducerBatch]]) -> None:
        """Replace the batch by its parts."""
        self.parts = parts
        self.data, self.encoded = _CLOSED, None
        self.completed.notify()

    def when_done(self, callback: Callback) -> None:
        """Run a callback once the batch is done, on the thread that completes it; at once if it already is."""
        self.callbacks.append(callback)
        if self.is_settled:
            self.run_callbacks()

    def run_callbacks(self) -> None:
        """Run each callback once; after a split, when all parts are done, since it is not known which part a callback
        waits for.

        A callback that raises is logged, and the others still run.
        """
        while self.callbacks:
            try:
                callback = self.callbacks.pop(0)
            except IndexError:
                return  # another thread has taken it
            if self.parts is not None:
                _when_all_done([part for _, part in self.parts], callback)
                continue
            try:
                callback()
            except Exception:
                _log.exception("a callback of a sent record failed")

    def wait(self, timeout: float | None) -> None:
        """Wait until the batch is done or split; raises TimeoutError after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self.is_settled:
            self.push()
            left = _HURRY_SECONDS if end is None else min(end - time.monotonic(), _HURRY_SECONDS)
            if not self.completed.wait(lambda: self.is_settled, left) and left < _HURRY_SECONDS:
                raise TimeoutError(f"{self.topic}-{self.partition}: a batch was not appended within {timeout} s")

    def _finish(self) -> None:
        self.is_done = True
        self.data, self.encoded = _CLOSED, None
        self.completed.notify()


def _when_all_done(batches: list[ProducerBatch], callback: Callback) -> None:
    done = itertools.count(1)

    def one_done() -> None:
        if next(done) == len(batches):
            callback()

    for batch in batches:
        batch.when_done(one_done)
