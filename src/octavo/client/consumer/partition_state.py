"""A partition that a consumer reads: where it is, and what it has fetched ahead."""

from __future__ import annotations

from itertools import islice

from octavo.client.consumer.offset_reset import OffsetReset
from octavo.coordinator.fetch import FetchedRecords, FetchForm, fetch
from octavo.errors import OffsetOutOfRangeError
from octavo.format.names import TopicPartition
from octavo.scanner.reading.records import ConsumerRecord
from octavo.storage.partition_log import PartitionLog
from octavo.system.clock import Clock


class PartitionState:
    """`position` is the next offset to hand out; None while there is none to begin with (by_duration may have to wait).

    `seeks` counts how often it was set from outside, by which a loop sees that what it holds is no longer wanted.
    What was taken counts only once `advance` says so: until then the next `take` begins with the same records.
    """

    __slots__ = (
        "_ahead",
        "_clock",
        "_form",
        "_position",
        "_reset",
        "is_paused",
        "log",
        "name",
        "seeks",
    )

    def __init__(
        self, name: TopicPartition, log: PartitionLog, form: FetchForm, reset: OffsetReset, clock: Clock
    ) -> None:
        self.name = name
        self.log = log
        self.is_paused = False
        self.seeks = 0
        self._form = form
        self._reset = reset
        self._clock = clock
        self._position: int | None = None
        self._ahead: tuple[FetchedRecords, int] | None = None  # and where what is left of the chunk begins

    @property
    def position(self) -> int | None:
        return self._position

    def seek(self, offset: int) -> None:
        """Read on from another offset; what was fetched ahead is dropped."""
        self.seeks += 1
        self._position, self._ahead = offset, None

    def advance(self, offset: int | None) -> None:
        """What comes before the offset was handed out."""
        self._position = offset

    def find_position(self) -> int | None:
        """Begin where auto.offset.reset says, unless there is a position already."""
        if self._position is None:
            self._position = self._reset.offset(self.name, self.log, self._form.isolation, self._clock.time_ms())
        return self._position

    def take(self, limit: int) -> tuple[list[ConsumerRecord], int]:
        """The next records, at most so many, and the position behind them; `advance` moves there.

        What comes before damage is handed out; the error is raised by the call that begins with it.
        """
        while (position := self.find_position()) is not None:
            ahead, self._ahead = self._ahead, None  # kept only if it goes on: a generator that has raised does not
            chunk = ahead[0] if ahead is not None and ahead[1] == position else self._fetch(position)
            if chunk is None:
                break
            records: list[ConsumerRecord] = []
            try:
                records.extend(islice(chunk.records, limit))
            except Exception:
                if not records:
                    raise
                return records, records[-1].offset + 1
            if len(records) == limit:
                self._ahead = chunk, records[-1].offset + 1
                return records, records[-1].offset + 1
            if records:
                return records, chunk.next_position
            self._position = chunk.next_position
        return [], -1

    def _fetch(self, position: int) -> FetchedRecords | None:
        """What follows the position, or the one that auto.offset.reset puts in its place."""
        try:
            return fetch(self.name, self.log, position, self._form)
        except OffsetOutOfRangeError:
            if self._reset.kind == "none":
                raise
            self._position = None
            reset = self.find_position()
            return None if reset is None else fetch(self.name, self.log, reset, self._form)
