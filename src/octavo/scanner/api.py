"""`octavo.scan`: what to read, and in which form to return it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from copy import copy
from functools import cached_property
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from octavo.errors import NoLogDirError, ScanError
from octavo.format.names import TopicPartition
from octavo.scanner.findings import Note, OnDamage, ScanFindings
from octavo.scanner.log_dirs import Place, open_log_dirs
from octavo.scanner.lookup.bounds import Bounds, Offsets, Timestamp, check_keys, check_offsets, resolve, to_milliseconds
from octavo.scanner.partition.flushed import missing_end, missing_end_note
from octavo.scanner.partition.snapshot import look_at, relisted, retrying, until_settled
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.places.location import Location
from octavo.scanner.places.root import Root
from octavo.scanner.places.selection import Topics, TopicSelection
from octavo.scanner.reading.plan import (
    SPLIT_BYTES,
    IsolationLevel,
    ReadTask,
    RecordFilter,
    ScanRequest,
    plan_partition,
)
from octavo.scanner.reading.read import COLUMNS, TaskReader
from octavo.scanner.reading.records import ConsumerRecord, read_records
from octavo.system.held_records import write_held
from octavo.system.shown import count, size, some, table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from octavo.scanner.following.consumer import ScanConsumer
    from octavo.scanner.following.followed import Reset

SCAN_LOG = __name__
_log = logging.getLogger(SCAN_LOG)
_SKIP = 'on_damage="skip" skips what is damaged and reads the rest'


class _Planned(NamedTuple):
    """A partition's tasks and notes, and why it or its end cannot be read."""

    tasks: list[ReadTask]
    notes: list[Note]
    failure: OSError | None = None
    is_beyond: bool = False  # the requested start is beyond its end
    missing: tuple[Note, ...] = ()  # about what was flushed at its end, and is gone


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
    key: bytes | str | None = None,
    grep: str | None = None,
    columns: Iterable[str] | None = None,
    text: bool = False,
    split_bytes: int = SPLIT_BYTES,
    on_damage: OnDamage = "raise",
    max_unpacked_bytes: int | None = None,
) -> Scan:
    """Read records from log directories without a lock and without changing a file, even next to a running broker.

    The directories are listed at once; records are read when the returned `Scan` is used.

    Args:
        paths: one or several log directories, partition folders, segment files, or URLs of them.
        topics: one or several names, or a compiled pattern that has to match the whole name; None: all. Kafka's
            internal topics are read only if they are named, or if `paths` has their partition folders.
        partitions: one or several partition numbers; None: all.
        from_offset: the first offset: a number, "earliest", "latest", "highWatermark", or a mapping from
            (topic, partition) to these; partitions that it leaves out are read from their start. From an offset beyond
            a partition's end nothing is read, and a note says so; if it is beyond the end of every partition, a warning
            is logged too.
        to_offset: the end, in the same forms; it is not included. Partitions that a mapping leaves out are read to
            their end.
        from_timestamp: start at the first record of this time or later: milliseconds, ISO 8601 text, a date or a
            datetime. The later of two starts counts.
        to_timestamp: end before the first record of this time or later. The earlier of two ends counts.
        isolation_level: "read_uncommitted", or "read_committed" to leave out aborted transactions, and everything from
            the first open one on.
        key: read only records with this key; a string stands for its UTF-8 bytes.
        grep: read only records whose value matches this regular expression (RE2) somewhere.
        columns: the columns to build, in this order; None: all of topic, partition, offset, timestamp, timestampType,
            key, value and headers.
        text: give keys, values and header values as strings, with U+FFFD for what is not UTF-8; default: as bytes.
            Records as Python objects always have bytes.
        split_bytes: about how many bytes of log one task of `Scan.plan` reads at most. Without an offset index, a
            segment is not split.
        on_damage: "raise" the error of a damaged batch or an unreadable file, or "skip" it with a note in `Scan.notes`.
            What a crash leaves at the end of a log, an incomplete batch or zeros, is not damage.
        max_unpacked_bytes: a compressed batch that unpacks to more counts as damaged; None: 256 MiB, or what the
            environment variable OCTAVO_MAX_UNPACKED_BYTES says.

    Raises:
        ScanError: a path, topic or partition does not exist, or an argument is wrong.
        OSError: one of the `paths` cannot be listed or, unless damage is skipped, a partition's folder in it.
    """
    if isolation_level not in ("read_uncommitted", "read_committed"):
        raise ScanError(f"unknown isolation level {isolation_level!r}; give read_uncommitted or read_committed")
    if on_damage not in ("raise", "skip"):
        raise ScanError(f"unknown on_damage {on_damage!r}; give raise or skip")
    bounds = Bounds(
        from_offset,
        to_offset,
        None if from_timestamp is None else to_milliseconds(from_timestamp),
        None if to_timestamp is None else to_milliseconds(to_timestamp),
    )
    selection = TopicSelection.of(topics, partitions)
    paths = [paths] if isinstance(paths, str | os.PathLike | Location) else list(paths)
    write_held(place.path if isinstance(place, Location) else place for place in paths)
    log_dirs = open_log_dirs(paths, selection.wants)
    unreadable = log_dirs.unreadable()
    selection.check(log_dirs.topic_partitions(), log_dirs.shown())
    if unreadable and on_damage == "raise":
        raise next(iter(unreadable.values()))
    findings = ScanFindings(on_damage, _SKIP)
    findings.damage_count = len(unreadable)
    wanted = selection.among(log_dirs.partitions, log_dirs.given())
    for argument, offsets in (("from_offset", from_offset), ("to_offset", to_offset)):
        named = check_keys(argument, offsets, log_dirs.topic_partitions(), log_dirs.shown())
        check_offsets(offsets)
        selection.check_chosen(argument, named, log_dirs.given())
    notes = [*log_dirs.notes, *selection.notes_on(log_dirs.topic_partitions(), wanted, log_dirs.shown())]
    if max_unpacked_bytes is not None and max_unpacked_bytes <= 0:
        raise ScanError(f"max_unpacked_bytes must be above 0, not {max_unpacked_bytes}")
    chosen, where = _columns(columns), _filter(key, grep)
    if where is not None and not {"key", "value"} <= set(chosen):
        raise ScanError("to filter by key or grep, keep key and value in columns")
    request = ScanRequest(bounds, isolation_level, chosen, split_bytes, max_unpacked_bytes, where, text)
    return Scan([log_dirs.partitions[topic_partition] for topic_partition in wanted], request, findings, notes)


class Scan:
    """The records of some partitions, in several forms. The first read or plan fixes which offsets it reads.

    Iterating over a scan yields its records.
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
        self._limit: int | None = None
        self._is_beyond_end = False  # known once it is planned

    def __repr__(self) -> str:
        files = self._partitions
        topics = count(len({one.topic_partition.topic for one in files}), "topic")
        places = some(dict.fromkeys(one.root.location for one in files)) or "of nothing"
        return f"<Scan {places}: {topics}, {count(len(files), 'partition')}, {size(sum(map(_log_bytes, files)))}>"

    def _repr_html_(self) -> str:
        topics: dict[str, list[PartitionFiles]] = {}
        for files in self._partitions:
            topics.setdefault(files.topic_partition.topic, []).append(files)
        rows = [
            [topic, len(each), sum(len(files.segments) for files in each), size(sum(map(_log_bytes, each)))]
            for topic, each in topics.items()
        ]
        return table(repr(self), ["topic", "partitions", "segments", "size"], rows)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Everything unexpected so far, such as damage that was skipped."""
        return tuple(self._findings.notes)

    @property
    def damage_count(self) -> int:
        """How many damaged places have been skipped so far. One that is read again counts again."""
        return self._findings.damage_count

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._request.columns

    @property
    def is_beyond_end(self) -> bool:
        """Whether `from_offset` is beyond the end of every partition, so that there is nothing to read."""
        return not self._tasks and self._is_beyond_end

    def plan(self) -> list[ReadTask]:
        """Independent, picklable tasks, sorted by topic, partition and offset.

        `octavo.read_tasks` reads them, in any process.
        """
        self._check_unlimited("plan")
        return list(self._tasks)

    @cached_property
    def _tasks(self) -> list[ReadTask]:
        write_held(one.root.location.path for one in self._partitions)
        roots = {id(files.root): files.root for files in self._partitions}.values()

        def plan_all(again: bool) -> tuple[list[_Planned], Iterable[Root]]:
            planned = []
            for files in self._partitions:
                try:
                    planned.append(retrying(relisted(files) if again else files, self._plan))
                except OSError as error:
                    planned.append(_Planned([], [], error))
            return planned, roots

        planned = until_settled(plan_all)
        for one in planned:
            self._findings.take(one.notes)
            self._findings.count(one.missing)
            if one.failure is not None:
                self._findings.unreadable("", one.failure)
        self._is_beyond_end = bool(planned) and all(one.is_beyond for one in planned)
        if self._is_beyond_end:  # no rows at all would look like an empty topic to a caller that does not read `notes`
            _log.warning("from_offset is beyond the end of every partition, such as %s", self.notes[-1])
        for root in roots:
            self._findings.count(root.notes)
        return [task for one in planned for task in one.tasks]

    def _plan(self, files: PartitionFiles) -> _Planned:
        request = self._request
        snapshot = look_at(files, is_committed=request.is_committed)
        offsets = resolve(request.bounds, snapshot)
        tasks = plan_partition(snapshot, offsets, *request.limits)
        notes = [*snapshot.notes_up_to(offsets.end), *offsets.notes]
        if offsets.end < snapshot.log_end_offset:
            return _Planned(tasks, notes, None, offsets.is_beyond)
        has_damage = snapshot.tail is not None and snapshot.tail.damaged_batches > 0
        missing = None if has_damage else missing_end(snapshot)  # damaged batches may hold what is missing
        gone = () if missing is None else (missing_end_note(snapshot, missing),)
        return _Planned(tasks, notes, snapshot.failure, offsets.is_beyond, gone)

    def to_reader(self) -> pyarrow.RecordBatchReader:
        """Arrow record batches, read on demand, so memory use stays flat. The caller may keep them."""
        from octavo.scanner.reading.arrow import to_reader

        return to_reader(self._tasks, self.columns, self._findings, self._limit, text=self._request.text)

    def to_table(self) -> pyarrow.Table:
        """All records in memory, as an Arrow table."""
        return self.to_reader().read_all()

    def to_pandas(self) -> pandas.DataFrame:
        """All records in memory, as a pandas data frame."""
        _check_installed("pandas")
        return self.to_table().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """All records in memory, as a Polars data frame."""
        _check_installed("polars")
        import polars

        frame = polars.from_arrow(self.to_table())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def records(self) -> Iterator[ConsumerRecord]:
        """The records one by one, with all their fields."""
        return islice(read_records(self._tasks, self._findings), self._limit)

    def limit(self, records: int) -> Scan:
        """A scan of only the first records, in the order of this one: by topic, partition and offset.

            octavo.scan("logs", "orders").limit(1000).to_pandas()

        If this scan is already planned, the new one uses the same plan.
        """
        if records < 0:
            raise ScanError(f"limit must be 0 or more, not {records}")
        limited = copy(self)
        limited._limit = records if self._limit is None else min(records, self._limit)
        return limited

    def head(self, records: int = 10) -> pyarrow.Table:
        """The first records as an Arrow table; reading stops once it has them."""
        limited = self.limit(records)
        limited.__dict__["_tasks"] = self._tasks  # one plan for both, even if this is the first read
        return limited.to_table()

    def count(self) -> int:
        """How many records there are. Batches whose header has the number are not decoded, except with `key` or
        `grep`."""
        if self._request.where is not None:
            return sum(batch.num_rows for batch in self.to_reader())
        reader = TaskReader(("offset",), self._findings)
        found = sum(reader.count(task) for task in self._tasks)
        return found if self._limit is None else min(found, self._limit)

    def consumer(
        self,
        group: str | None = None,
        *,
        auto_offset_reset: Reset = "earliest",
        consumer_timeout_ms: float = 0,
        max_poll_records: int = 500,
    ) -> ScanConsumer:
        """A `ScanConsumer` that follows the scan's partitions as they grow, without a lock.

        It begins where the group has committed, otherwise at the start of the scan, or at its end with `latest`. If the
        records at its position were deleted, it continues as `auto_offset_reset` says. Iterating ends after
        `consumer_timeout_ms` without a record.
        """
        from octavo.scanner.following.consumer import ScanConsumer
        from octavo.scanner.following.followed import Followed

        self._check_unlimited("consumer")
        if auto_offset_reset not in ("earliest", "latest", "none"):
            raise ScanError(f"unknown auto_offset_reset {auto_offset_reset!r}; give earliest, latest or none")
        request, findings = self._request, self._findings
        return ScanConsumer(
            [Followed(files, request, auto_offset_reset, findings) for files in self._partitions],
            {} if group is None else self._committed(group),
            consumer_timeout_ms=consumer_timeout_ms,
            max_poll_records=max_poll_records,
        )

    def _committed(self, group: str) -> dict[TopicPartition, int]:
        from octavo.scanner.following.group_offsets import (
            committed_offsets,  # imported here, because its schemas take long to load
        )

        roots = list(filter(_is_log_dir, dict.fromkeys(files.root.location for files in self._partitions)))
        log_dirs = open_log_dirs(roots, lambda wanted: wanted.topic == "__consumer_offsets") if roots else None
        if log_dirs is None or not log_dirs.partitions:
            return {}
        request = ScanRequest(Bounds(), "read_committed", tuple(COLUMNS), SPLIT_BYTES, self._request.max_unpacked_bytes)
        return committed_offsets(Scan(log_dirs.partitions.values(), request, ScanFindings("skip")), group)

    def _check_unlimited(self, what: str) -> None:
        if self._limit is not None:
            raise ScanError(f"a scan with a limit has no {what}: call {what}() on the scan without the limit")

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return self.records()

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Arrow's exchange protocol, through which DuckDB, Polars and others read a scan directly."""
        return self.to_reader().__arrow_c_stream__(requested_schema)


def _is_log_dir(root: Location) -> bool:
    try:
        open_log_dirs(root, lambda _: False)
    except NoLogDirError:  # such as the folder above a copied partition's folder
        return False
    return True


def _log_bytes(files: PartitionFiles) -> int:
    return sum(max(segment.log.size, 0) for segment in files.segments)  # a folder with a file's name has no size


def _check_installed(package: str) -> None:
    if find_spec(package) is None:
        raise ScanError(f"to_{package} needs {package}, which is not installed: pip install 'octavo[{package}]'")


def _filter(key: bytes | str | None, grep: str | None) -> RecordFilter | None:
    if grep is not None:
        if not isinstance(grep, str | bytes):
            raise ScanError(f"grep is {grep!r}, expected a regular expression as text")
        from octavo.scanner.reading.matching import check_pattern  # pyarrow takes long to import

        check_pattern(grep)
    if key is not None and not isinstance(key, str | bytes | bytearray):
        raise ScanError(f"key is {key!r}, expected bytes, or text for its UTF-8 bytes")
    return None if key is None and grep is None else RecordFilter(key.encode() if isinstance(key, str) else key, grep)


def _columns(columns: Iterable[str] | None) -> tuple[str, ...]:
    if columns is None:
        return tuple(COLUMNS)
    if isinstance(columns, str):
        columns = [columns]
    if not isinstance(columns, Iterable):
        raise ScanError(f"columns is {columns!r}, expected some of {', '.join(COLUMNS)}")
    chosen = tuple(dict.fromkeys(columns))
    unknown = [name for name in chosen if name not in COLUMNS]
    if unknown or not chosen:
        problem = f"unknown column {unknown[0]!r}" if unknown else "no column"
        raise ScanError(f"{problem}; give some of {', '.join(COLUMNS)}")
    return chosen
