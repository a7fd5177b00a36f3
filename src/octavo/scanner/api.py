"""`octavo.scan`: what to read, and the forms in which it can be had."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from octavo.errors import ScanError
from octavo.format.names import TopicPartition
from octavo.scanner.findings import Note, OnDamage, ScanFindings
from octavo.scanner.log_dirs import Place, open_log_dirs
from octavo.scanner.lookup.bounds import Bounds, Offsets, Timestamp, resolve, to_milliseconds
from octavo.scanner.partition.snapshot import look_at, relisted, retrying, until_settled
from octavo.scanner.partition.transactions import read_transactions
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.places.root import Root
from octavo.scanner.places.selection import Topics, TopicSelection
from octavo.scanner.reading.plan import SPLIT_BYTES, ReadTask, plan_partition
from octavo.scanner.reading.read import COLUMNS
from octavo.scanner.reading.records import ConsumerRecord, read_records

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from octavo.scanner.following.consumer import ScanConsumer
    from octavo.scanner.following.followed import Reset

IsolationLevel = Literal["read_uncommitted", "read_committed"]


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """What to read of each partition."""

    bounds: Bounds
    isolation_level: IsolationLevel
    columns: tuple[str, ...]
    split_bytes: int
    max_unpacked_bytes: int | None


class _Planned(NamedTuple):
    """A partition's tasks and notes, and why it, or its end, cannot be read."""

    tasks: list[ReadTask]
    notes: list[Note]
    failure: OSError | None = None


def scan(
    paths: Place | Iterable[Place],
    topics: Topics = None,
    partitions: int | Iterable[int] | None = None,
    *,
    from_offset: Offsets = "earliest",
    to_offset: Offsets = "latest",
    from_timestamp: Timestamp | None = None,
    to_timestamp: Timestamp | None = None,
    isolation_level: IsolationLevel = "read_uncommitted",
    columns: Iterable[str] | None = None,
    split_bytes: int = SPLIT_BYTES,
    on_damage: OnDamage = "raise",
    max_unpacked_bytes: int | None = None,
) -> Scan:
    """A read-only view of log directories, partition folders or segment files.

    `topics`: names, or a compiled pattern; None is all but Kafka's internal ones. Offsets: a number, "earliest",
    "latest", "highWatermark", or a mapping from (topic, partition) to these; ends are not included. A timestamp
    (milliseconds, ISO 8601, datetime) stands for the first offset from that time on. `on_damage`: raise the error that
    a damaged batch or an unreadable file is, or "skip" it and say so in `notes`. What a crash leaves at the end of a
    log, an incomplete batch or zeros, is no damage. `max_unpacked_bytes`: a compressed batch that unpacks to more is
    damaged; 256 MiB unless the environment variable OCTAVO_MAX_UNPACKED_BYTES says otherwise.
    """
    if isolation_level not in ("read_uncommitted", "read_committed"):
        raise ScanError(f"isolation level {isolation_level!r}, expected read_uncommitted or read_committed")
    if on_damage not in ("raise", "skip"):
        raise ScanError(f"on_damage {on_damage!r}, expected raise or skip")
    bounds = Bounds(
        from_offset,
        to_offset,
        None if from_timestamp is None else to_milliseconds(from_timestamp),
        None if to_timestamp is None else to_milliseconds(to_timestamp),
    )
    selection = TopicSelection.of(topics, partitions)
    log_dirs = open_log_dirs(paths, selection.wants)
    unreadable = log_dirs.unreadable()
    selection.check({**log_dirs.partitions, **unreadable}, log_dirs.topics(), log_dirs.shown())
    if unreadable and on_damage == "raise":
        raise next(iter(unreadable.values()))
    findings = ScanFindings(on_damage)
    findings.damage_count = len(unreadable)
    wanted = selection.among(log_dirs.partitions, log_dirs.given())
    if max_unpacked_bytes is not None and max_unpacked_bytes <= 0:
        raise ScanError(f"max_unpacked_bytes {max_unpacked_bytes}, expected more than 0")
    request = ScanRequest(bounds, isolation_level, _columns(columns), split_bytes, max_unpacked_bytes)
    return Scan([log_dirs.partitions[topic_partition] for topic_partition in wanted], request, findings, log_dirs.notes)


class Scan:
    """The records of some partitions, in several forms. What it reads is fixed when it is first planned.

    `notes` says what was not as expected, up to now. Iterating over it gives its records.
    """

    def __init__(
        self,
        partitions: Iterable[PartitionFiles],
        request: ScanRequest,
        findings: ScanFindings,
        notes: Iterable[Note] = (),
    ) -> None:
        self._partitions = list(partitions)
        self._request = request
        self._findings = findings
        self._findings.notes.extend(notes)

    @property
    def notes(self) -> tuple[Note, ...]:
        return tuple(self._findings.notes)

    @property
    def damage_count(self) -> int:
        """How many damaged places were passed over."""
        return self._findings.damage_count

    @property
    def columns(self) -> tuple[str, ...]:
        return self._request.columns

    def plan(self) -> list[ReadTask]:
        """Independent, picklable tasks, by topic, partition and offset; `reading.arrow.read_tasks` runs them."""
        return list(self._tasks)

    @cached_property
    def _tasks(self) -> list[ReadTask]:
        roots = {id(files.root): files.root for files in self._partitions}.values()

        def plan_all(again: bool) -> tuple[list[_Planned], Iterable[Root]]:
            listed = [relisted(files) for files in self._partitions] if again else self._partitions
            return [self._planned(files) for files in listed], roots

        planned = until_settled(plan_all)
        for _, notes, failure in planned:
            self._findings.take(notes)
            if failure is not None:
                self._findings.unreadable("", failure)
        for root in roots:
            self._findings.count(root.notes)
        return [task for tasks, _, _ in planned for task in tasks]

    def _planned(self, files: PartitionFiles) -> _Planned:
        try:
            return retrying(files, self._plan)
        except OSError as error:
            return _Planned([], [], error)

    def _plan(self, files: PartitionFiles) -> _Planned:
        request = self._request
        snapshot = look_at(files)
        transactions = read_transactions(snapshot) if request.isolation_level == "read_committed" else None
        offsets = resolve(request.bounds, snapshot, transactions)
        limits = request.split_bytes, request.max_unpacked_bytes
        tasks = plan_partition(snapshot, offsets, transactions, request.columns, *limits)
        notes = [*snapshot.notes_up_to(offsets.end), *(transactions.notes if transactions else ()), *offsets.notes]
        return _Planned(tasks, notes, snapshot.failure if offsets.end >= snapshot.log_end_offset else None)

    def to_reader(self) -> pyarrow.RecordBatchReader:
        """Arrow record batches, read as they are asked for: memory stays flat. They are the caller's to keep."""
        from octavo.scanner.reading.arrow import to_reader

        return to_reader(self._tasks, self.columns, self._findings)

    def to_table(self) -> pyarrow.Table:
        """All of it in memory, as an Arrow table."""
        return self.to_reader().read_all()

    def to_pandas(self) -> pandas.DataFrame:
        """All of it in memory, as a pandas data frame."""
        return self.to_table().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """All of it in memory, as a Polars data frame."""
        try:
            import polars
        except ImportError:
            raise ScanError("to_polars needs the package polars, which is not installed") from None
        frame = polars.from_arrow(self.to_table())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def records(self) -> Iterator[ConsumerRecord]:
        """The records one by one, with all their fields."""
        return read_records(self._tasks, self._findings)

    def consumer(
        self,
        group: str | None = None,
        *,
        auto_offset_reset: Reset = "earliest",
        consumer_timeout_ms: float = 0,
        max_poll_records: int = 500,
    ) -> ScanConsumer:
        """A consumer of the scan's partitions as they grow, without a lock; `ScanConsumer` has its calls.

        It begins where the scan does, with a group where that has committed, with `latest` at the end. Where records
        before its position were deleted it goes on as `auto_offset_reset` says. Iterating ends when there has been no
        record for so many milliseconds.
        """
        from octavo.scanner.following.consumer import ScanConsumer
        from octavo.scanner.following.followed import Followed, Reading

        if auto_offset_reset not in ("earliest", "latest", "none"):
            raise ScanError(f"auto_offset_reset {auto_offset_reset!r}, expected earliest, latest or none")
        request = self._request
        is_committed = request.isolation_level == "read_committed"
        limits = request.split_bytes, request.max_unpacked_bytes
        reading = Reading(request.bounds, is_committed, *limits, auto_offset_reset)
        return ScanConsumer(
            [Followed(files, reading, self._findings) for files in self._partitions],
            {} if group is None else self._committed(group),
            consumer_timeout_ms=consumer_timeout_ms,
            max_poll_records=max_poll_records,
        )

    def _committed(self, group: str) -> dict[TopicPartition, int]:
        from octavo.scanner.following.group_offsets import (
            committed_offsets,  # the schemas of its records take long to load
        )

        roots = dict.fromkeys(files.root.location for files in self._partitions)
        found = open_log_dirs(roots, lambda wanted: wanted.topic == "__consumer_offsets") if roots else None
        if found is None or not found.partitions:
            return {}
        request = ScanRequest(Bounds(), "read_committed", tuple(COLUMNS), SPLIT_BYTES, self._request.max_unpacked_bytes)
        return committed_offsets(Scan(found.partitions.values(), request, ScanFindings("skip")), group)

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return self.records()

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Arrow's exchange protocol: DuckDB, Polars and others take a scan as it is."""
        return self.to_reader().__arrow_c_stream__(requested_schema)


def _columns(columns: Iterable[str] | None) -> tuple[str, ...]:
    if columns is None:
        return tuple(COLUMNS)
    if isinstance(columns, str):
        columns = [columns]
    chosen = tuple(dict.fromkeys(columns))
    unknown = [name for name in chosen if name not in COLUMNS]
    if unknown or not chosen:
        found = repr(unknown[0]) if unknown else "none"
        raise ScanError(f"column {found}, expected some of {', '.join(COLUMNS)}")
    return chosen
