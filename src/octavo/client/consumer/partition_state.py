"""A partition that a consumer reads: its position, and what was fetched ahead."""

from __future__ import annotations

from itertools import islice

from octavo.client.consumer.config import OffsetReset
from octavo.coordinator.log_reader import FetchedRecords, FetchOptions, fetch
from octavo.errors import OffsetOutOfRangeError
from octavo.format.names import TopicPartition
from octavo.scanner.reading.records import ConsumerRecord
from octavo.storage.partition_log import PartitionLog
from octavo.system.clock import Clock


class PartitionState:
    """`position` is the next offset to return, or None until there is one: by_duration may have to wait for a record.

    `seeks` counts how often the position was set from outside, or the partition was paused or given up: this tells a
    loop that its records are outdated.
    Records that were taken count as returned only after `advance`; until then the next `take` starts with them again.
    """

    __slots__ = ("_ahead", "_clock", "_options", "_reset", "is_paused", "log", "position", "seeks", "topic_partition")

    def __init__(
        self,
        topic_partition: TopicPartition,
        log: PartitionLog,
        options: FetchOptions,
        reset: OffsetReset,
        clock: Clock,
    ) -> None:
        self.topic_partition = topic_partition
        self.log = log
        self.is_paused = False
        self.seeks = 0
        self._options = options
        self._reset = reset
        self._clock = clock
        self.position: int | None = None
        self._ahead: tuple[FetchedRecords, int] | None = None  # with the position of the next of them

    def seek(self, offset: int) -> None:
        """Continue from another offset; drops what was fetched ahead."""
        self.seeks += 1
        self.position, self._ahead = offset, None

    def pause(self) -> None:
        """Return nothing until `is_paused` is reset."""
        self.is_paused = True
        self.seeks += 1

    def give_up(self) -> None:
        """Return nothing any more, not even from a loop that is in the middle of the partition's records."""
        self.seeks += 1

    def advance(self, offset: int | None) -> None:
        """Record that everything before the offset has been returned."""
        self.position = offset

    def find_position(self) -> int | None:
        """Begin where auto.offset.reset says, unless there already is a position."""
        if self.position is None:
            self.position = self._reset.offset(
                self.topic_partition, self.log, self._options.isolation, self._clock.time_ms()
            )
        return self.position

    def take(self, limit: int) -> tuple[list[ConsumerRecord], int]:
        """The next records, at most `limit`, and the position after them; `advance` moves there.

        Records before damage are returned first; the next call raises the error.
        """
        while (position := self.find_position()) is not None:
            # Stored again below only if there may be more records: a generator that has raised is finished.
            ahead, self._ahead = self._ahead, None
            fetched = ahead[0] if ahead is not None and ahead[1] == position else self._fetch(position)
            if fetched is None:
                break
            records: list[ConsumerRecord] = []
            try:
                records.extend(islice(fetched.records, limit))
            except Exception:
                if not records:
                    raise
                return records, records[-1].offset + 1
            if len(records) == limit:
                self._ahead = fetched, records[-1].offset + 1
                return records, records[-1].offset + 1
            if records:
                return records, fetched.next_position
            self.position = fetched.next_position
        return [], -1

    def _fetch(self, position: int) -> FetchedRecords | None:
        """Fetch from the position on; if the log does not have it, from where auto.offset.reset says."""
        try:
            return fetch(self.topic_partition, self.log, position, self._options)
        except OffsetOutOfRangeError:
            if self._reset.kind == "none":
                raise
            self.position = None
            reset = self.find_position()
            return None if reset is None else fetch(self.topic_partition, self.log, reset, self._options)
