"""Reading tasks: which records, in which columns, whatever happened to the files since the plan."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import octavo
from octavo.errors import CorruptionError, ScanError
from octavo.format.batches.batch import build_batch, read_header
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.names import FileKind
from octavo.format.record import Header, Record
from octavo.kernels.layout import Column
from octavo.scanner.api import Scan
from octavo.scanner.findings import ScanFindings
from octavo.scanner.reading.arrow import read_tasks
from octavo.scanner.reading.read import TaskReader, wanted_columns
from octavo.scanner.reading.records import read_records
from tests.cli.runs import octavo as octavo_command
from tests.format.crafted import crafted
from tests.format.exact_batches import empty_batch, encode_batch
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

TEN = [batch(10 * number, 10, timestamp=1000 * number) for number in range(10)]
SIZE = len(TEN[0])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "orders-0"


def offsets(folder: Path, **options: Any) -> list[int]:
    return [record.offset for record in octavo.scan(folder, **options)]


def sparse(*numbers: int) -> bytes:
    """A batch that spans ten offsets, of which compaction left these."""
    header = read_header(TEN[numbers[0] // 10])
    return encode_batch(header, [Record(number, 1000, b"k", b"v") for number in numbers])


@pytest.mark.parametrize(("start", "end"), [(0, 100), (13, 57), (19, 20), (20, 21), (99, 100), (0, 1)])
@pytest.mark.parametrize("columns", [("offset",), ("key", "offset"), ("offset", "headers", "topic")])
def test_records_outside_the_bounds_are_cut_off(folder: Path, start: int, end: int, columns: tuple[str, ...]) -> None:
    write_segment(folder, 0, *TEN)
    table = octavo.scan(folder, from_offset=start, to_offset=end, columns=columns).to_table()
    assert table["offset"].to_pylist() == list(range(start, end))
    assert table.column_names == list(columns)


def test_records_are_cut_off_without_the_offset_column(folder: Path) -> None:
    write_segment(folder, 0, *TEN)
    table = octavo.scan(folder, from_offset=13, to_offset=57, columns=["timestamp"]).to_table()
    stamps = [1000 * (offset // 10) + offset % 10 for offset in range(13, 57)]
    assert table["timestamp"].cast("int64").to_pylist() == stamps


def test_gaps_and_empty_batches_are_skipped(folder: Path) -> None:
    # C7 F14
    write_segment(folder, 0, sparse(3, 7), empty_batch(read_header(TEN[1])), sparse(20), TEN[5], sparse(68))
    assert offsets(folder) == [3, 7, 20, *range(50, 60), 68]
    assert offsets(folder, from_offset=8, to_offset=51) == [20, 50]
    assert offsets(folder, from_offset=10, to_offset=20) == []
    assert offsets(folder, from_offset=69) == []


def test_formats_mix_in_a_segment(folder: Path) -> None:
    v0 = encode_message_set([Record(0, -1, b"a", None), Record(1, -1, None, b"")], 0)
    v0_packed = encode_message_set([Record(2, -1, b"b", b"x"), Record(3, -1, b"c", b"y")], 0, codec=Codec.SNAPPY)
    written = [Record(4, 70, b"d", b"z"), Record(5, 71, b"e", b"z")]
    appended = encode_message_set(written, 1, codec=Codec.LZ4, log_append_time=99)
    headers = (Header("h", None), Header("h", b"1"))
    v2 = build_batch([Record(6, 80, b"f", b"z", headers)], codec=Codec.ZSTD, log_append_time=88)
    write_segment(folder, 0, v0, v0_packed, appended, v2, build_batch([Record(7, 90, None, None)]))
    rows = [(record.offset, record.timestamp, str(record.timestamp_type)) for record in octavo.scan(folder)]
    assert rows == [
        (0, -1, "NoTimestampType"), (1, -1, "NoTimestampType"), (2, -1, "NoTimestampType"), (3, -1, "NoTimestampType"),
        (4, 99, "LogAppendTime"), (5, 99, "LogAppendTime"), (6, 88, "LogAppendTime"), (7, 90, "CreateTime"),
    ]  # fmt: skip
    table = octavo.scan(folder).to_table()
    assert table["timestampType"].to_pylist() == [row[2] for row in rows]
    assert table["key"].to_pylist() == [b"a", None, b"b", b"c", b"d", b"e", b"f", None]
    assert table["value"].to_pylist()[:2] == [None, b""]
    assert table["headers"].to_pylist()[6] == [{"key": "h", "value": None}, {"key": "h", "value": b"1"}]
    assert offsets(folder, from_offset=3, to_offset=5) == [3, 4]


def test_columns_that_are_not_asked_for_are_not_built(folder: Path) -> None:
    write_segment(folder, 0, *TEN)
    assert wanted_columns(("topic", "partition", "timestampType")) == Column(0)
    assert wanted_columns(("offset", "value")) == Column.OFFSET | Column.VALUE
    for names in [("topic",), ("key",), ("value", "timestamp")]:
        (task,) = octavo.scan(folder, columns=names).plan()
        (filling,) = TaskReader(names, ScanFindings()).fillings(task)
        assert (filling.columns.key is None) == ("key" not in names)
        assert (filling.columns.value is None) == ("value" not in names)
        assert filling.columns.header_key is None
        assert octavo.scan(folder, columns=names).to_table().shape == (100, len(names))


def test_a_log_larger_than_a_chunk_and_a_batch_larger_than_a_filling_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.scanner.places.segment_log.CHUNK_BYTES", 2000)
    large = build_batch([Record(100 + number, 5, None, bytes(200_000)) for number in range(20)])
    write_segment(folder, 0, *TEN, large, batch(120, 3))
    assert offsets(folder) == list(range(123))


def test_batches_that_go_back_are_not_delivered_twice(folder: Path) -> None:
    write_segment(folder, 0, *TEN[:5], TEN[2], *TEN[5:])
    write_segment(folder, 70, *TEN[7:], closed=False)
    assert offsets(folder) == list(range(100))


class TestDamage:
    """A flipped bit, a broken length, an undecodable record: raised, or skipped and reported."""

    CASES: dict[str, Callable[[bytes], bytes]] = {  # noqa: RUF012
        "crc": lambda data: data[:60] + b"\x7f\x7f" + data[62:],
        "magic": lambda data: data[:16] + b"\x09" + data[17:],
        "short": lambda data: TestDamage.too_short(),
        "records": lambda data: TestDamage.undecodable(),
    }

    @staticmethod
    def too_short() -> bytes:
        return b"\0" * 7 + b"\x1e" + (30).to_bytes(4) + b"\0\0\0\0\x02" + bytes(25)

    @staticmethod
    def undecodable() -> bytes:
        header = read_header(TEN[3])
        from dataclasses import replace

        from octavo.format.batches.batch import frame_batch

        return frame_batch(replace(header, count=11), TEN[3][61:])

    @pytest.mark.parametrize("damage", CASES.values(), ids=CASES)
    def test_a_damaged_batch_is_raised_or_skipped(self, folder: Path, damage: Callable[[bytes], bytes]) -> None:
        write_segment(folder, 0, *TEN[:3], damage(TEN[3]), *TEN[4:])
        with pytest.raises(CorruptionError) as raised:
            offsets(folder)
        assert raised.value.path == str(path(folder, 0, FileKind.LOG))
        assert raised.value.position is not None and 3 * SIZE <= raised.value.position <= 4 * SIZE
        scan = octavo.scan(folder, on_damage="skip")
        assert [record.offset for record in scan] == [*range(30), *range(40, 100)]
        assert scan.damage_count == 1
        assert scan.notes[0].sentence.endswith("skipped")
        assert scan.to_table().num_rows == 90

    @pytest.mark.parametrize("damage", CASES.values(), ids=CASES)
    def test_damage_outside_the_bounds_does_not_matter(self, folder: Path, damage: Callable[[bytes], bytes]) -> None:
        write_segment(folder, 0, *TEN[:3], damage(TEN[3]), *TEN[4:])
        assert offsets(folder, from_offset=12, to_offset=30) == list(range(12, 30))
        assert offsets(folder, from_offset=40) == list(range(40, 100))

    @pytest.mark.parametrize("length", [b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff"])
    def test_after_a_broken_length_the_next_sound_batch_is_read(self, folder: Path, length: bytes) -> None:
        write_segment(folder, 0, *TEN)
        write_segment(folder, 100, batch(100, 5), closed=False)
        log = path(folder, 0, FileKind.LOG)
        data = bytearray(log.read_bytes())
        data[3 * SIZE + 8 : 3 * SIZE + 12] = length
        log.write_bytes(data)
        with pytest.raises(CorruptionError, match="after offset 29, expected batches up to offset 99"):
            offsets(folder)
        scan = octavo.scan(folder, on_damage="skip")
        assert [record.offset for record in scan] == [*range(30), *range(40, 105)]
        path(folder, 0, FileKind.OFFSET_INDEX).unlink()
        scan = octavo.scan(folder, on_damage="skip")
        assert [record.offset for record in scan] == [*range(30), *range(40, 105)]
        assert scan.damage_count == 1
        assert offsets(folder, from_offset=40) == list(range(40, 105))

    def test_damage_before_the_first_record_of_a_time_is_reported(self, folder: Path) -> None:
        damaged = bytearray(TEN[5])
        damaged[70] ^= 1
        log = write_segment(folder, 0, *TEN[:5], bytes(damaged), *TEN[6:])
        scan = octavo.scan(folder, from_timestamp=5000, on_damage="skip")
        assert [record.offset for record in scan] == list(range(60, 100))
        assert [note.path for note in scan.notes if note.is_damage] == [str(log)]
        assert offsets(folder, from_timestamp=7000) == list(range(70, 100))

    @pytest.mark.parametrize("batches", [1.0, 1.01, 2.0, 2.5, 6.9, 7.0])
    @pytest.mark.parametrize("is_last", [False, True])
    def test_batches_within_the_claimed_length_of_a_damaged_one_are_read(
        self, folder: Path, batches: float, is_last: bool
    ) -> None:
        log = write_segment(folder, 0, *TEN, closed=not is_last)
        if not is_last:
            write_segment(folder, 100, batch(100, 5), closed=False)
        path(folder, 0, FileKind.OFFSET_INDEX).write_bytes(bytes(80))
        data = bytearray(log.read_bytes())
        data[3 * SIZE + 8 : 3 * SIZE + 12] = (int(batches * SIZE) - 12).to_bytes(4)
        data[3 * SIZE + 17] ^= 1  # a bit of its CRC
        log.write_bytes(data)
        scan = octavo.scan(folder, on_damage="skip")
        assert [record.offset for record in scan] == [*range(30), *range(40, 100 if is_last else 105)]
        assert scan.damage_count == 1

    def test_a_segment_before_the_last_that_is_cut_is_damage(self, folder: Path) -> None:
        log = write_segment(folder, 0, *TEN[:5])
        write_segment(folder, 50, *TEN[5:], closed=False)
        log.write_bytes(log.read_bytes()[:-10])
        with pytest.raises(CorruptionError, match="an incomplete batch after offset 39"):
            offsets(folder)
        assert offsets(folder, on_damage="skip") == [*range(40), *range(50, 100)]


class TestChanges:
    """What a broker may do to files between the plan and the reading."""

    @pytest.fixture
    def scan(self, folder: Path) -> Scan:
        for number in (0, 4, 8):
            write_segment(folder, 10 * number, *TEN[number : number + 4], closed=number < 8)
        scan = octavo.scan(folder, split_bytes=2 * SIZE)
        assert len(scan.plan()) == 5
        return scan

    @staticmethod
    def remove(folder: Path, *bases: int) -> None:
        for base in bases:
            for file in folder.glob(f"{base:020}.*"):
                file.unlink()

    def test_appends_do_not_show(self, folder: Path, scan: Scan) -> None:
        with path(folder, 80, FileKind.LOG).open("ab") as log:
            log.write(batch(100, 5))
        assert [record.offset for record in scan] == list(range(100))

    def test_files_on_their_way_out_are_read_under_their_new_name(self, folder: Path, scan: Scan) -> None:
        # C4
        for file in [*folder.glob(f"{0:020}.*"), *folder.glob(f"{40:020}.*")]:
            file.rename(f"{file}.deleted")
        assert [record.offset for record in scan] == list(range(100))
        assert not scan.notes

    def test_what_was_deleted_is_reported(self, folder: Path, scan: Scan) -> None:
        self.remove(folder, 0, 40)
        assert [record.offset for record in scan] == list(range(80, 100))
        assert "offsets 0 to 19 were deleted while they were read" in str(scan.notes[0])
        assert scan.damage_count == 0

    def test_compaction_into_one_file_is_followed_by_offset(self, folder: Path, scan: Scan) -> None:
        self.remove(folder, 0, 40)
        write_segment(folder, 0, sparse(3), *TEN[1:3], sparse(31, 35), sparse(44), TEN[6], sparse(79))
        assert [record.offset for record in scan] == [
            3,
            *range(10, 30),
            31,
            35,
            44,
            *range(60, 70),
            79,
            *range(80, 100),
        ]

    def test_a_larger_file_in_the_place_of_the_planned_one_is_read(self, folder: Path, scan: Scan) -> None:
        self.remove(folder, 40)
        write_segment(folder, 0, *TEN[:8])
        assert [record.offset for record in scan] == list(range(100))

    def test_a_smaller_file_in_the_place_of_the_planned_one_is_read(self, folder: Path, scan: Scan) -> None:
        write_segment(folder, 40, sparse(41), sparse(55), TEN[7])
        assert [record.offset for record in scan] == [*range(40), 41, 55, *range(70, 100)]

    def test_a_swap_in_progress_is_read(self, folder: Path, scan: Scan) -> None:
        self.remove(folder, 0, 40)
        for file in write_segment(folder / "new", 0, *TEN[:2], TEN[7]).parent.iterdir():
            file.rename(folder / f"{file.name}.swap")
        assert [record.offset for record in scan] == [*range(20), *range(70, 100)]

    def test_a_log_that_is_truncated_meanwhile_is_read_to_its_new_end(self, folder: Path, scan: Scan) -> None:
        scan.plan()
        with path(folder, 80, FileKind.LOG).open("r+b") as log:
            log.truncate(SIZE)
        reader = read_records(scan.plan(), findings := ScanFindings())
        assert [record.offset for record in reader] == list(range(90))
        assert not findings.damage_count

    def test_a_folder_that_goes_away_is_an_error_of_one_sentence(self, folder: Path, scan: Scan) -> None:
        shutil.rmtree(folder)
        with pytest.raises(ScanError, match="orders-0: deleted or renamed while it was read"):
            scan.to_table()

    def test_a_file_that_is_open_is_read_to_its_end(self, folder: Path, scan: Scan) -> None:
        records = octavo.scan(folder).records()
        first = next(records)
        self.remove(folder, 0)
        assert [first.offset, *(record.offset for record in records)] == list(range(100))


class TestMemory:
    """Record batches that a caller keeps stay as they are; the memory of dropped ones is reused."""

    @pytest.fixture(autouse=True)
    def small_fillings(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("octavo.format.batches.decoder.TARGET_BYTES", 2000)

    def test_batches_that_are_kept_stay_as_they_are(self, folder: Path) -> None:
        batches = [
            build_batch([Record(10 * n + i, n, b"%d" % n, b"%d" % i, (Header("n", b"%d" % n),)) for i in range(10)])
            for n in range(200)
        ]
        write_segment(folder, 0, *batches)
        kept = list(octavo.scan(folder).to_reader())
        assert len(kept) > 5
        rows = [row for batch in kept for row in batch.to_pylist()]
        assert [row["offset"] for row in rows] == list(range(2000))
        assert [row["key"] for row in rows] == [b"%d" % (offset // 10) for offset in range(2000)]
        assert [row["headers"][0]["value"] for row in rows] == [row["key"] for row in rows]

    def test_a_column_that_is_kept_keeps_its_batch(self, folder: Path) -> None:
        write_segment(folder, 0, *(batch(10 * n, 10) for n in range(100)))
        views = [found.column("offset").to_numpy() for found in octavo.scan(folder).to_reader()]
        assert np.concatenate(views).tolist() == list(range(1000))

    def test_memory_of_dropped_batches_is_used_again(self, folder: Path) -> None:
        write_segment(folder, 0, *(batch(10 * n, 10) for n in range(500)))
        tasks = octavo.scan(folder).plan()
        places = {found.column("value").buffers()[2].address for found in read_tasks(tasks, ("value",), ScanFindings())}
        assert len(places) < 6


@pytest.mark.parametrize("fields", [{"lastOffsetDelta": -1}, {"lastOffsetDelta": -2}, {}], ids=str)
@pytest.mark.parametrize("attributes", [0, 4])
def test_a_negative_record_count_is_damage(folder: Path, fields: dict[str, int], attributes: int) -> None:
    """The batch's CRC is right; Kafka's consumer fails on it, too."""
    log = write_segment(
        folder, 0, batch(0), crafted(batch(1), recordsCount=-1, attributes=attributes, **fields), batch(2)
    )
    scan = octavo.scan(folder, on_damage="skip")
    assert [record.offset for record in scan] == [0, 2]
    assert scan.damage_count == 1
    assert f"{log}: position 172: a batch at offset 1 of -1 records" in str(scan.notes[0])
    with pytest.raises(CorruptionError, match="-1 records"):
        octavo.scan(folder).to_table()
    counted = octavo_command("topics", str(folder))
    assert (counted.exit, "-1 records" in counted.stderr) == (1, True)
