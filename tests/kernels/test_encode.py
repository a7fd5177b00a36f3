"""Columns to records and batches: golden bytes from their fields, limits, columns that are refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import BATCH, BATCH_OVERHEAD, Code
from tests.golden.strings import BATCHES
from tests.kernels.hand_made import batch, record, table_of
from tests.kernels.source_columns import binary, columns, spoiled


def encode(kernels: SimpleNamespace, source: RecordColumns, rows: int = 1, *, base: tuple[int, int] = (0, 0)) -> bytes:
    out = bytearray(1000)
    code, end = kernels.encode_records(source, 0, rows, *base, out, 0)
    assert code == Code.DONE
    return bytes(out[:end])


PLAIN = ("transactional", "commit", "empty", "horizon", "horizon_v0", "appended")


@pytest.mark.parametrize("names", [*((name,) for name in PLAIN), PLAIN])
def test_golden_batches_come_out_again(kernels: SimpleNamespace, names: tuple[str, ...]) -> None:
    """Decoded and encoded again, with only header fields and columns in between."""
    data, table = table_of(*(BATCHES[name] for name in names))
    decoded = RecordColumns.empty(20, 1000, 20, 1000)
    kernels.decode_records(data, table, 0, decoded, 63)
    header = table.copy()
    for name in ("position", "size", "crc", "magic"):
        header[name] = 99
    out = bytearray(len(data) + 8)
    assert kernels.encode_batches(decoded, 0, header, out, 3) == (Code.DONE, len(names), 3 + len(data))
    assert out[3 : 3 + len(data)] == data
    table["position"] += 3
    assert header.tolist() == table.tolist()


def test_every_kind_of_record_is_encoded(kernels: SimpleNamespace) -> None:
    headers = ((b"a", b"b"), (b"", None), (b"long" * 40, b""))
    expected = [record(0, None, b""), record(1, b"", None), record(2, b"k" * 200, b"v" * 70, headers, delta_ms=-3)]
    source = columns(
        3,
        timestamp=np.array([0, 0, -3]),
        key=binary(None, b"", b"k" * 200),
        value=binary(b"", None, b"v" * 70),
        header_offsets=np.array([0, 0, 0, 3], np.int32),
        header_key=binary(*(name for name, _ in headers)),
        header_value=binary(*(content for _, content in headers)),
    )
    assert encode(kernels, source, 3) == b"".join(expected)


@pytest.mark.parametrize("length", [*range(20), 31, 32, 33, 63, 64, 65, 127, 128, 129, 300])
def test_values_of_every_length_are_encoded(kernels: SimpleNamespace, length: int) -> None:
    value = bytes(range(256)) * 2
    source = columns(2, key=binary(value[:length], b"-"), value=binary(value[1 : 1 + length], b"+"))
    assert encode(kernels, source, 2) == record(0, value[:length], value[1 : 1 + length]) + record(1, b"-", b"+")


def test_missing_columns_are_null(kernels: SimpleNamespace) -> None:
    assert encode(kernels, columns()) == record(0, None, None)


def test_a_column_without_validity_has_no_nulls(kernels: SimpleNamespace) -> None:
    column = binary(b"x")
    column.validity = None
    assert encode(kernels, columns(key=column)) == record(0, b"x", None)


def test_rows_in_the_middle_are_encoded_alone(kernels: SimpleNamespace) -> None:
    source = columns(10, key=binary(*(bytes([i]) if i % 2 else None for i in range(10))))
    out = bytearray(100)
    code, end = kernels.encode_records(source, 3, 5, 3, 0, out, 7)
    assert (code, bytes(out[7:end])) == (Code.DONE, record(0, b"\3", None) + record(1, None, None))


def test_deltas_wrap_around(kernels: SimpleNamespace) -> None:
    low, top = -(2**63), 2**63 - 1
    source = columns(offset=np.array([low]), timestamp=np.array([low]))
    assert encode(kernels, source, base=(top, top)) == record(1, None, None, delta_ms=1)


@pytest.mark.parametrize("delta", [2**31 - 1, -(2**31)])
def test_the_largest_deltas_are_encoded(kernels: SimpleNamespace, delta: int) -> None:
    assert encode(kernels, columns(offset=np.array([delta]))) == record(delta, None, None)


@pytest.mark.parametrize("delta", [2**31, -(2**31) - 1, 2**63 - 1, -(2**63)])
def test_an_offset_out_of_reach_ends_the_encoding(kernels: SimpleNamespace, delta: int) -> None:
    source = columns(2, offset=np.array([0, delta]))
    assert kernels.encode_records(source, 0, 2, 0, 0, bytearray(100), 5) == (Code.DELTA_OUT_OF_RANGE, 5)
    table = np.zeros(2, BATCH)
    table["count"] = 1
    out = bytearray(1000)
    assert kernels.encode_batches(source, 0, table, out, 0) == (Code.DELTA_OUT_OF_RANGE, 1, 68)
    assert (table["size"].tolist(), table["magic"].tolist()) == ([68, 0], [2, 0])


def test_a_buffer_that_is_too_small_is_reported_as_full(kernels: SimpleNamespace) -> None:
    """The kernel needs room for five bytes in front of a record, the most that its length can take."""
    source = columns(1, key=binary(b"key"))
    for room in range(9 + 5):
        assert kernels.encode_records(source, 0, 1, 0, 0, bytearray(room), 0) == (Code.FULL, 0)
    assert kernels.encode_records(source, 0, 1, 0, 0, bytearray(14), 0) == (Code.DONE, 10)


def test_batches_that_do_not_fit_are_left(kernels: SimpleNamespace) -> None:
    source = columns(3, key=binary(b"a", b"b", b"c"))
    table = np.zeros(3, BATCH)
    table["count"], table["base_offset"] = 1, [0, 1, 2]
    expected = [batch(record(0, key, None), 1, base_offset=i) for i, key in enumerate((b"a", b"b", b"c"))]
    size = len(expected[0])
    for name in ("partition_leader_epoch", "producer_id", "producer_epoch", "base_sequence"):
        table[name] = -1
    for room in range(3 * size + 5):
        out = bytearray(room)
        code, written, end = kernels.encode_batches(source, 0, table, out, 0)
        assert end == written * size
        assert out[:end] == b"".join(expected[:written])
        assert written == min(max((room - 4) // size, 0), 3)
        assert code == (Code.DONE if written == 3 else Code.FULL)
    out = bytearray(3 * size + 4)
    assert kernels.encode_batches(source, 0, table, out, 0) == (Code.DONE, 3, 3 * size)


def test_empty_batches_are_headers_alone(kernels: SimpleNamespace) -> None:
    out = bytearray(2 * BATCH_OVERHEAD)
    assert kernels.encode_batches(columns(0), 0, np.zeros(2, BATCH), out, 0) == (Code.DONE, 2, len(out))
    assert kernels.encode_batches(columns(0), 0, np.zeros(0, BATCH), out, 5) == (Code.DONE, 0, 5)
    assert kernels.encode_records(columns(0), 0, 0, 0, 0, out, len(out)) == (Code.DONE, len(out))


@pytest.mark.parametrize("name", spoiled())
def test_unsound_columns_are_refused(kernels: SimpleNamespace, name: str) -> None:
    source = spoiled()[name]
    table = np.zeros(1, BATCH)
    table["count"] = 2
    out = bytearray(1000)
    with pytest.raises(ValueError, match="rows"):
        kernels.encode_records(source, 0, 2, 0, 0, out, 0)
    with pytest.raises(ValueError, match="rows"):
        kernels.encode_batches(source, 0, table, out, 0)
    out.clear()  # a BufferError if the kernel still held it


@pytest.mark.parametrize(("first", "end"), [(-1, 1), (1, 0), (0, 4), (4, 4), (-(2**63), 0), (2**63 - 1, 2**63 - 1)])
def test_rows_that_do_not_exist_are_refused(kernels: SimpleNamespace, first: int, end: int) -> None:
    source = columns(3, key=binary(b"a", b"b", b"c"))
    with pytest.raises(ValueError, match="rows"):
        kernels.encode_records(source, first, end, 0, 0, bytearray(100), 0)


@pytest.mark.parametrize("row", [-1, 3, 2**63 - 1, -(2**63)])
def test_batches_of_rows_that_do_not_exist_are_refused(kernels: SimpleNamespace, row: int) -> None:
    table = np.zeros(2, BATCH)
    table["count"] = 1
    with pytest.raises(ValueError, match="rows"):
        kernels.encode_batches(columns(3), row, table, bytearray(1000), 0)
    table["count"] = [1, -1]
    with pytest.raises(ValueError, match="batch 1: count -1 is negative"):
        kernels.encode_batches(columns(3), 0, table, bytearray(1000), 0)


@pytest.mark.parametrize("at", [-1, 101])
def test_a_place_outside_the_buffer_is_refused(kernels: SimpleNamespace, at: int) -> None:
    with pytest.raises(ValueError, match="not inside a buffer of 100 bytes"):
        kernels.encode_records(columns(), 0, 1, 0, 0, bytearray(100), at)
    with pytest.raises(ValueError, match="not inside a buffer of 100 bytes"):
        kernels.encode_batches(columns(), 0, np.zeros(1, BATCH), bytearray(100), at)
