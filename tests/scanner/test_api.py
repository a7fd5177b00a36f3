"""`octavo.scan` as users see it: record batches, tables, pandas and Polars frames, DuckDB, Python values."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pytest

import octavo
from octavo.format.batches.batch import build_batch
from octavo.format.record import Header, Record, TimestampType
from octavo.scanner.api import Scan
from octavo.scanner.reading.records import ConsumerRecord
from tests.scanner.segments import write_segment

RECORDS = [
    Record(0, 1_700_000_000_000, b"a", b"1"),
    Record(1, 1_700_000_000_001, None, b"2", (Header("h", b"x"), Header("", None))),
    Record(2, -1, b"", None),
]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    write_segment(tmp_path / "logs" / "orders-0", 0, build_batch(RECORDS))
    write_segment(tmp_path / "logs" / "orders-1", 7, build_batch([Record(7, 5, b"b", b"3")], log_append_time=6))
    return tmp_path / "logs"


@pytest.fixture
def scan(logs: Path) -> Scan:
    return octavo.scan(logs)


def test_local_records_need_no_pyarrow(logs: Path) -> None:
    code = f"import sys, octavo; print(len(list(octavo.scan({str(logs)!r}))), 'pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["4", "False"]


def test_records_are_values(scan: Scan) -> None:
    first, second, third, last = scan.records()
    assert first == ConsumerRecord("orders", 0, 0, 1_700_000_000_000, TimestampType.CREATE_TIME, b"a", b"1")
    assert isinstance(first, ConsumerRecord)
    assert second.headers == (Header("h", b"x"), Header("", None))
    assert (second.key, third.key, third.value, third.timestamp) == (None, b"", None, -1)
    assert (last.partition, last.offset, last.timestamp, last.timestamp_type) == (
        1,
        7,
        6,
        TimestampType.LOG_APPEND_TIME,
    )
    assert list(scan) == [first, second, third, last]


def test_records_have_all_their_fields_whatever_the_columns(logs: Path) -> None:
    assert next(octavo.scan(logs, columns=["key"]).records()).value == b"1"


def test_a_header_key_that_is_not_utf8_is_shown_as_by_a_java_client(tmp_path: Path) -> None:
    record = Record(0, 0, None, None, (Header("a\udcff", b""),))
    write_segment(tmp_path / "t-0", 0, build_batch([record]))
    scan = octavo.scan(tmp_path / "t-0")
    assert next(scan.records()).headers == (Header("a�", b""),)
    assert scan.to_table()["headers"].to_pylist() == [[{"key": "a�", "value": b""}]]


def test_the_schema_is_documented(scan: Scan) -> None:
    page = (Path(__file__).parents[2] / "docs" / "scan.md").read_text(encoding="utf-8")
    schema = scan.to_reader().schema
    assert schema.names == ["topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers"]
    types = ["string", "int32", "int64", "timestamp[ms, tz=UTC]", "string", "binary", "binary"]
    assert [str(field.type) for field in schema][:7] == types
    assert [field.name for field in schema if field.nullable] == ["key", "value"]
    for field in schema:
        assert f"`{field.name}`" in page
    assert scan.columns == tuple(schema.names)


def test_tables_and_frames_hold_the_same(scan: Scan) -> None:
    table = scan.to_table()
    assert table["offset"].to_pylist() == [0, 1, 2, 7]
    assert table["partition"].to_pylist() == [0, 0, 0, 1]
    assert table["timestamp"].cast(pa.int64()).to_pylist() == [1_700_000_000_000, 1_700_000_000_001, -1, 6]
    pandas_frame = scan.to_pandas()
    assert pandas_frame["key"].tolist() == [b"a", None, b"", b"b"]
    assert str(pandas_frame["timestamp"].iloc[0]) == "2023-11-14 22:13:20+00:00"
    frame = scan.to_polars()
    assert isinstance(frame, polars.DataFrame)
    assert frame["value"].to_list() == [b"1", b"2", None, b"3"]
    assert frame["headers"].to_list()[1] == [{"key": "h", "value": b"x"}, {"key": "", "value": None}]


def test_columns_come_in_the_order_asked_for(logs: Path) -> None:
    scan = octavo.scan(logs, columns=["value", "topic", "offset"])
    assert scan.to_table().column_names == ["value", "topic", "offset"]
    assert octavo.scan(logs, columns="offset").to_table().column_names == ["offset"]
    assert octavo.scan(logs, columns=["topic", "topic"]).to_table().num_rows == 4


def test_other_libraries_accept_a_scan(scan: Scan) -> None:
    assert pa.table(scan).num_rows == 4
    assert len(polars.from_arrow(scan.to_reader())) == 4
    records = scan.to_reader()  # noqa: F841 - DuckDB finds it by its name
    found = duckdb.sql('SELECT topic, sum("offset")::BIGINT FROM records GROUP BY topic')
    assert found is not None and found.fetchall() == [("orders", 10)]


def test_nothing_to_read_is_an_empty_table(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "meta.properties").write_text("version=1")
    scan = octavo.scan(tmp_path / "logs")
    assert scan.to_table().num_rows == 0
    assert scan.to_table().schema == scan.to_reader().schema
    assert list(scan) == []


def test_damage_in_a_reader_is_the_documented_error(logs: Path) -> None:
    log = logs / "orders-0" / f"{0:020}.log"
    log.write_bytes(log.read_bytes()[:-1] + b"!" + build_batch([Record(3, 5, b"b", b"3")]))
    reader = octavo.scan(logs).to_reader()
    said = r"position 0: a batch at offset 0 .* whose CRC .*\. on_damage=\"skip\" skips what is damaged"
    with pytest.raises(octavo.CorruptRecordError, match=said):
        reader.read_all()


def test_a_record_has_the_fields_of_kafkas_consumer_record(scan: Scan) -> None:
    assert ConsumerRecord._fields == (
        "topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers",
    )  # fmt: skip
    assert repr(next(iter(scan))).startswith("ConsumerRecord(topic='orders', partition=0, offset=0,")


def test_count_head_and_limit_agree(scan: Scan) -> None:
    assert scan.count() == 4
    assert scan.head(2)["offset"].to_pylist() == [0, 1]
    assert scan.head().num_rows == 4
    limited = scan.limit(3)
    assert [record.offset for record in limited] == [0, 1, 2] == limited.to_table()["offset"].to_pylist()
    assert (limited.count(), limited.limit(5).count(), limited.limit(1).count(), scan.limit(0).count()) == (3, 3, 1, 0)
    assert scan.limit(0).to_table().num_rows == 0 == len(list(scan.limit(0)))
    assert polars.DataFrame(limited).height == 3
    assert scan.count() == len(list(scan))
    with pytest.raises(octavo.ScanError, match="limit must be 0 or more, not -1"):
        scan.limit(-1)
    with pytest.raises(octavo.ScanError, match="a scan with a limit has no plan"):
        limited.plan()
    with pytest.raises(octavo.ScanError, match="a scan with a limit has no consumer"):
        limited.consumer()


def test_the_first_read_fixes_the_offsets_even_if_it_is_head(tmp_path: Path) -> None:
    batches = [build_batch([Record(offset, 0, None, b"")]) for offset in (0, 1)]
    write_segment(tmp_path / "t-0", 0, batches[0])
    scan = octavo.scan(tmp_path / "t-0")
    assert scan.head().num_rows == 1
    write_segment(tmp_path / "t-0", 0, b"".join(batches))
    assert scan.count() == 1
    assert octavo.scan(tmp_path / "t-0").count() == 2


def test_head_reads_no_further_than_it_must(tmp_path: Path) -> None:
    batches = [build_batch([Record(offset, 0, None, b"v" * 1000)]) for offset in range(5000)]
    damaged = bytearray(b"".join(batches))
    damaged[-1] ^= 1
    write_segment(tmp_path / "t-0", 0, bytes(damaged))
    write_segment(tmp_path / "t-0", 5000, build_batch([Record(5000, 0, None, b"")]))
    assert octavo.scan(tmp_path / "t-0").head(3)["offset"].to_pylist() == [0, 1, 2]
    with pytest.raises(octavo.CorruptRecordError):
        octavo.scan(tmp_path / "t-0").count()


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_package_that_is_missing_is_named_with_its_extra(
    scan: Scan, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(octavo.ScanError) as raised:
        getattr(scan, f"to_{package}")()
    expected = f"to_{package} needs {package}, which is not installed: pip install 'octavo[{package}]'"
    assert str(raised.value) == expected


def test_a_timestamp_type_is_kafkas_number(scan: Scan) -> None:
    first, *_, last = scan
    assert (first.timestamp_type, last.timestamp_type) == (0, 1)
    assert f"{first.timestamp_type} {last.timestamp_type!s}" == "CreateTime LogAppendTime"
