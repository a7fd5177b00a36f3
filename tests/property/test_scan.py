"""Random partitions, written batch by batch next to a naive model of them, and read by random scans."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import octavo
from octavo.format.batches.batch import Origin, build_batch, read_header
from octavo.format.batches.control import ControlType, EndTransactionMarker, build_marker_batch
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.format.indexes import txn_index
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.names import FileKind
from octavo.format.record import Header, Record
from octavo.format.small_files import producer_snapshot
from octavo.format.small_files.producer_snapshot import ProducerEntry
from octavo.scanner.reading.plan import IsolationLevel
from octavo.scanner.reading.records import ConsumerRecord
from tests.format.exact_batches import empty_batch, encode_batch
from tests.scanner.segments import path, write_segment

PRODUCERS = range(1, 4)


@dataclass
class Model:
    """A growing partition: its segments' bytes, and what a client may see of it."""

    segments: list[tuple[int, list[bytes]]] = field(default_factory=lambda: [(0, [])])
    snapshots: dict[int, dict[int, int]] = field(default_factory=dict)
    records: list[tuple[Record, str, int | None]] = field(default_factory=list)  # with timestamp type and producer
    open: dict[int, int] = field(default_factory=dict)  # producer → first offset of its transaction
    aborted: list[AbortedTxn] = field(default_factory=list)
    next_offset: int = 0

    def add(self, data: bytes, last_offset: int) -> None:
        self.segments[-1][1].append(data)
        self.next_offset = last_offset + 1

    def roll(self) -> None:
        if self.segments[-1][1]:
            self.segments.append((self.next_offset, []))
            self.snapshots[self.next_offset] = dict(self.open)

    def write(self, folder: Path, *, indexed: bool) -> None:
        for slot, (base_offset, batches) in enumerate(self.segments):
            write_segment(folder, base_offset, *batches, closed=slot + 1 < len(self.segments))
            if not indexed:
                path(folder, base_offset, FileKind.OFFSET_INDEX).unlink()
                path(folder, base_offset, FileKind.TIME_INDEX).unlink()
            end = self.segments[slot + 1][0] if slot + 1 < len(self.segments) else self.next_offset
            entries = [txn for txn in self.aborted if base_offset <= txn.last_offset < end]
            if entries:
                path(folder, base_offset, FileKind.TXN_INDEX).write_bytes(txn_index.encode(entries))
        for offset, open_transactions in self.snapshots.items():
            entries_of = [ProducerEntry(number, 0, 0, 0, 0, 0, 0, first) for number, first in open_transactions.items()]
            path(folder, offset, FileKind.PRODUCER_SNAPSHOT).write_bytes(producer_snapshot.encode(entries_of))

    def visible(self, *, committed: bool) -> list[tuple[Record, str]]:
        limit = min(self.open.values(), default=self.next_offset) if committed else self.next_offset
        return [
            (record, kind)
            for record, kind, producer in self.records
            if record.offset < limit and not (committed and self.is_aborted(record.offset, producer))
        ]

    def is_aborted(self, offset: int, producer: int | None) -> bool:
        return any(
            txn.producer_id == producer and txn.first_offset <= offset <= txn.last_offset for txn in self.aborted
        )


@st.composite
def models(draw: st.DrawFn) -> Model:
    model = Model()
    for _ in range(draw(st.integers(1, 25))):
        step = draw(st.sampled_from(["data", "data", "old", "transactional", "end", "roll", "gap", "empty"]))
        if step == "roll":
            model.roll()
        elif step == "gap":
            model.next_offset += draw(st.integers(1, 30))
        elif step == "end":
            _end(draw, model)
        elif step == "old":
            _old(draw, model)
        elif step == "empty":
            records = _records(draw, model)
            model.add(empty_batch(read_header(build_batch(records))), records[-1].offset)
        else:
            _data(draw, model, transactional=step == "transactional")
    return model


def _records(draw: st.DrawFn, model: Model, *, headers: bool = True) -> list[Record]:
    content = st.none() | st.binary(max_size=40)
    header = st.builds(Header, st.text("aé", max_size=3), content)
    records, offset = [], model.next_offset
    for _ in range(draw(st.integers(1, 6))):
        offset += draw(st.sampled_from([0, 0, 0, 3]))
        kept = tuple(draw(st.lists(header, max_size=2))) if headers else ()
        records.append(Record(offset, draw(st.integers(0, 50)), draw(content), draw(content), kept))
        offset += 1
    return records


def _data(draw: st.DrawFn, model: Model, *, transactional: bool) -> None:
    records, codec = _records(draw, model), draw(st.sampled_from(Codec))
    producer = draw(st.sampled_from(PRODUCERS)) if transactional else None
    stamped = draw(st.none() | st.integers(0, 50))
    origin = Origin()
    if producer is not None:
        origin = Origin(producer_id=producer, producer_epoch=0, base_sequence=0, is_transactional=True)
        model.open.setdefault(producer, records[0].offset)
    data = build_batch(records, codec=codec, log_append_time=stamped, origin=origin)
    if draw(st.booleans()) and len(records) > 2:  # compaction takes records out and leaves the header's span
        records = records[1:-1]
        data = encode_batch(read_header(data), records)
    last_offset = read_header(data).last_offset
    kind = "CreateTime" if stamped is None else "LogAppendTime"
    for record in records:
        shown = record if stamped is None else record._replace(timestamp=stamped)
        model.records.append((shown, kind, producer))
    model.add(data, last_offset)


def _old(draw: st.DrawFn, model: Model) -> None:
    magic, codec = draw(st.sampled_from([0, 1])), draw(st.sampled_from([Codec.NONE, Codec.GZIP, Codec.LZ4]))
    records = _records(draw, model, headers=False)
    kind = "NoTimestampType" if magic == 0 else "CreateTime"
    model.records += [(record._replace(timestamp=-1) if magic == 0 else record, kind, None) for record in records]
    for together in [records] if codec else [[record] for record in records]:  # one message per record, or one wrapper
        model.add(encode_message_set(together, magic, codec=codec), together[-1].offset)


def _end(draw: st.DrawFn, model: Model) -> None:
    producer, offset = draw(st.sampled_from(PRODUCERS)), model.next_offset
    control_type = draw(st.sampled_from([ControlType.ABORT, ControlType.COMMIT]))
    marker = EndTransactionMarker(control_type, 0)
    first = model.open.pop(producer, None)
    if first is not None and control_type is ControlType.ABORT:
        last_stable_offset = min(model.open.values(), default=offset + 1)
        model.aborted.append(AbortedTxn(producer, first, offset, last_stable_offset))
    model.add(build_marker_batch(marker, offset=offset, timestamp=99, producer_id=producer, producer_epoch=0), offset)


@contextmanager
def written(model: Model, *, indexed: bool) -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix="octavo-scan-"))
    try:
        model.write(root / "random-0", indexed=indexed)
        yield root
    finally:
        shutil.rmtree(root)


def shown(record: ConsumerRecord) -> tuple[Record, str]:
    fields = record.offset, record.timestamp, record.key, record.value, record.headers
    return Record(*fields), str(record.timestamp_type)


@settings(max_examples=100, deadline=None)
@given(models(), st.data(), st.booleans(), st.booleans())
def test_a_scan_shows_what_the_model_shows(model: Model, data: st.DataObject, committed: bool, indexed: bool) -> None:
    bound = st.integers(0, model.next_offset + 3)
    start, end, split_bytes = data.draw(bound), data.draw(bound), data.draw(st.sampled_from([1, 150, 600, 1 << 20]))
    level: IsolationLevel = "read_committed" if committed else "read_uncommitted"
    with written(model, indexed=indexed) as root:
        scan = octavo.scan(root, from_offset=start, to_offset=end, isolation_level=level, split_bytes=split_bytes)
        wanted = [row for row in model.visible(committed=committed) if start <= row[0].offset < end]
        assert [shown(record) for record in scan] == wanted
        table = octavo.scan(
            root,
            from_offset=start,
            to_offset=end,
            isolation_level=level,
            split_bytes=split_bytes,
            columns=["value", "key"],
        ).to_table()
        assert table["value"].to_pylist() == [record.value for record, _ in wanted]
        assert table["key"].to_pylist() == [record.key for record, _ in wanted]
        assert [note.sentence for note in scan.notes if start <= model.next_offset] == []


@settings(max_examples=60, deadline=None)
@given(models(), st.integers(-1, 55), st.integers(-1, 55), st.booleans())
def test_times_stand_for_the_first_offset_from_then_on(model: Model, start: int, end: int, indexed: bool) -> None:
    everything = model.visible(committed=False)
    first = next((record.offset for record, _ in everything if record.timestamp >= start), model.next_offset)
    last = next((record.offset for record, _ in everything if record.timestamp >= end), model.next_offset)
    with written(model, indexed=indexed) as root:
        scan = octavo.scan(root, from_timestamp=start, to_timestamp=end, split_bytes=300)
        assert [shown(record) for record in scan] == [row for row in everything if first <= row[0].offset < last]


@settings(max_examples=60, deadline=None)
@given(models(), st.data())
def test_a_log_cut_anywhere_is_read_up_to_its_last_whole_batch(model: Model, data: st.DataObject) -> None:
    with written(model, indexed=data.draw(st.booleans())) as root:
        log = path(root / "random-0", model.segments[-1][0], FileKind.LOG)
        content = log.read_bytes()
        cut = data.draw(st.integers(0, len(content)))
        log.write_bytes(content[:cut])
        sizes = [len(batch) for batch in model.segments[-1][1]]
        kept = sum(sum(sizes[: number + 1]) <= cut for number in range(len(sizes)))
        wanted = [record.offset for record, _ in model.visible(committed=False)]
        lost = _offsets_of(model.segments[-1][1][kept:])
        assert [record.offset for record in octavo.scan(root)] == [offset for offset in wanted if offset not in lost]


def _offsets_of(entries: list[bytes]) -> set[int]:
    """All offsets of the records in batches and message sets."""
    found: set[int] = set()
    for entry in entries:
        walked = walk(entry)
        for columns in Decoder().decode(walked.data, walked.table):
            found.update(columns.offset[: columns.rows].tolist())
    return found
