"""What `Producer.send` returns: a future for the record's offset in the log."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from octavo.client.producer.batch import ProducerBatch


class RecordMetadata(NamedTuple):
    """Where a record is; with LogAppendTime the timestamp is the time of the append."""

    topic: str
    partition: int
    offset: int
    timestamp: int


class RecordFuture:
    """A record that was sent. Asking for its result appends its batch at once, and waits for that."""

    __slots__ = ("_batch", "_place", "_timestamp")

    def __init__(self, batch: ProducerBatch, place: int, timestamp: int) -> None:
        self._batch = batch
        self._place = place
        self._timestamp = timestamp

    def done(self) -> bool:
        """Whether the record is in the log, or has failed."""
        return self._batch_and_place()[0].is_done

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Where the record is; raises its error if it could not be appended, TimeoutError after `timeout` seconds.

        A batch that is still open is appended at once, without waiting for linger.ms.
        """
        error = self.exception(timeout)
        if error is not None:
            raise error
        return self._metadata()

    def get(self, timeout: float | None = None) -> RecordMetadata:
        """The same as `result`, under kafka-python's name."""
        return self.result(timeout)

    def exception(self, timeout: float | None = None) -> Exception | None:
        """Why the record is not in the log, or None if it is; waits like `result`."""
        while True:
            batch, _ = self._batch_and_place()
            batch.wait(timeout)
            if batch.parts is None:  # otherwise the batch was split in the meantime
                return batch.error

    @property
    def topic(self) -> str:
        """The topic that the record was sent to."""
        return self._batch.topic

    @property
    def partition(self) -> int:
        """The partition that the record was sent to."""
        return self._batch.partition

    @property
    def offset(self) -> int:
        """The record's offset; waits like `result`."""
        return self.result().offset

    @property
    def timestamp(self) -> int:
        """The record's timestamp in the log; waits like `result`."""
        return self.result().timestamp

    def add_callback(self, called: Callable[[RecordMetadata], object]) -> Self:
        """Call a function with the metadata once the record is in the log, on the thread that appends it; at once if it
        already is."""
        return self._when_done(lambda future: called(future._metadata()), on_error=False)

    def add_errback(self, called: Callable[[Exception], object]) -> Self:
        """Call a function with the error if the record could not be appended."""
        return self._when_done(lambda future: called(future._error()), on_error=True)

    def _when_done(self, called: Callable[[RecordFuture], object], *, on_error: bool) -> Self:
        def run() -> None:
            if (self._batch_and_place()[0].error is not None) == on_error:
                called(self)

        self._batch_and_place()[0].when_done(run)
        return self

    def _batch_and_place(self) -> tuple[ProducerBatch, int]:
        """The batch that holds the record, and its place in it, since the original batch may have been split."""
        batch, place = self._batch, self._place
        while batch.parts is not None:
            first, batch = batch.parts[bisect_right(batch.parts, place, key=itemgetter(0)) - 1]
            place -= first
        return batch, place

    def _metadata(self) -> RecordMetadata:
        batch, place = self._batch_and_place()
        timestamp = self._timestamp if batch.log_append_time < 0 else batch.log_append_time
        return RecordMetadata(batch.topic, batch.partition, batch.base_offset + place, timestamp)

    def _error(self) -> Exception:
        error = self._batch_and_place()[0].error
        assert error is not None, "the batch has not failed"
        return error

    def __repr__(self) -> str:
        batch, place = self._batch_and_place()
        state = "waiting" if not batch.is_done else f"offset {batch.base_offset + place}"
        state = f"failed: {batch.error}" if batch.error is not None else state
        return f"<RecordFuture {batch.topic}-{batch.partition}, {state}>"
