"""A partition that is read while it grows: each look at its files shows how far it reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Literal, TypeVar

from octavo.errors import OffsetOutOfRangeError
from octavo.format.names import TopicPartition
from octavo.scanner.findings import ScanFindings
from octavo.scanner.lookup.bounds import OffsetRange, resolve
from octavo.scanner.lookup.times import first_offset_from
from octavo.scanner.partition.snapshot import PartitionSnapshot, look_at, relisted, retrying
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.reading.plan import ScanRequest, plan_partition
from octavo.scanner.reading.records import ConsumerRecord, read_records
from octavo.system.held_records import write_held

Reset = Literal["earliest", "latest", "none"]
_Value = TypeVar("_Value")


class Followed:
    """One partition of a consumer. `position` is the next offset to return; `seeks` counts how often a caller set it.

    `advance` moves the position. `take` does so only past markers and gaps or, if the position is not in the log, to
    where `reset` says.
    """

    def __init__(self, files: PartitionFiles, request: ScanRequest, reset: Reset, findings: ScanFindings) -> None:
        self.is_paused = False
        self.seeks = 0
        self.position: int | None = None
        self._files = files
        self._request = request
        self._reset_to = reset
        self._findings = findings
        self._records: Iterator[ConsumerRecord] = iter(())
        self._next = -1  # the position at which `_records` continues; they are useless at any other
        self._end = -1  # where `_records` end

    @property
    def topic_partition(self) -> TopicPartition:
        return self._files.topic_partition

    def seek(self, offset: int) -> None:
        """Continue from another offset."""
        self.seeks += 1
        self.position, self._next = offset, -1

    def advance(self, offset: int | None) -> None:
        """Move on: everything before the offset has been returned."""
        self.position = offset

    @property
    def directory(self) -> str:
        """The path of the log directory that the partition is in."""
        return self._files.root.location.path

    def reach(self) -> OffsetRange:
        """Where the partition begins and ends for this reader."""
        return self._look_now(lambda snapshot: OffsetRange(snapshot.log_start_offset, self._end_of(snapshot)))

    def first_from(self, timestamp: int) -> int | None:
        """The offset of the first record with this time or a later one; None if there is none."""

        def look(snapshot: PartitionSnapshot) -> int | None:
            offset = first_offset_from(snapshot, timestamp, self._findings.notes)
            return None if offset is None or offset >= self._end_of(snapshot) else offset

        return self._look_now(look)

    def begin(self) -> int:
        """The position. Initially, it is the start of the scan, or its end with `latest`."""

        def look(snapshot: PartitionSnapshot) -> int:
            end = self._end_of(snapshot)
            return end if self._reset_to == "latest" else min(resolve(self._request.bounds, snapshot).start, end)

        if self.position is None:
            self.position = self._look_now(look)
        return self.position

    def take(self, limit: int) -> tuple[list[ConsumerRecord], int]:
        """The next records, at most `limit`, and the position after them."""
        if self._next == self.begin():
            taken = self._taken(limit)
            if taken[0]:
                return taken
        self._fetch(self.begin())
        return self._taken(limit)

    def _taken(self, limit: int) -> tuple[list[ConsumerRecord], int]:
        self._next = -1  # unless all goes well: a generator that raised cannot continue
        records: list[ConsumerRecord] = []
        try:
            records.extend(islice(self._records, limit))
        except Exception:
            if not records:
                raise
            return records, records[-1].offset + 1
        if records and len(records) == limit:
            self._next = records[-1].offset + 1
            return records, self._next
        if not records:
            self.position = self._end  # there are no wanted records in between
        return records, self._end

    def _fetch(self, position: int) -> None:
        """Look at the files again, and read from the position on, or from where `reset` says."""

        def look(snapshot: PartitionSnapshot) -> None:
            start, end = position, self._end_of(snapshot)
            if not snapshot.log_start_offset <= start <= snapshot.log_end_offset:
                start = self._reset(start, snapshot, end)
            tasks = plan_partition(snapshot, OffsetRange(start, end), *self._request.limits)
            self.position, self._end = start, max(start, end)
            self._records = read_records(tasks, self._findings)

        self._look(look)

    def _reset(self, position: int, snapshot: PartitionSnapshot, end: int) -> int:
        start = snapshot.log_start_offset
        error = OffsetOutOfRangeError(position, start, snapshot.log_end_offset)
        if self._reset_to == "none":
            raise error
        resumed = start if self._reset_to == "earliest" else end
        self._findings.loss(snapshot.files.location, f"{error}; reading from {resumed} on")
        return resumed

    def _end_of(self, snapshot: PartitionSnapshot) -> int:
        to_end = replace(self._request.bounds, from_offset="earliest", from_timestamp=None)
        return max(resolve(to_end, snapshot).end, snapshot.log_start_offset)

    def _look_now(self, look: Callable[[PartitionSnapshot], _Value]) -> _Value:
        """Like `_look`, with the records that this process still holds back for the directory."""
        write_held([self.directory])
        return self._look(look)

    def _look(self, look: Callable[[PartitionSnapshot], _Value]) -> _Value:
        """The result of `look` on the files as they are now; the checkpoints next to them are read again too."""
        self._files = relisted(replace(self._files, root=self._files.root.again()))
        return retrying(self._files, lambda files: look(look_at(files, is_committed=self._request.is_committed)))
