"""Runs of batches from rows in any order: the same as the twin's, which cuts and encodes each run separately."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import BATCH, BATCH_OVERHEAD, Code
from tests.kernels import implementations
from tests.kernels.hand_made import batch, record
from tests.kernels.source_columns import binary, columns, spoiled

VALUE = st.none() | st.binary(max_size=80)
TIMES = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 300)
HEADERS = st.lists(st.tuples(st.binary(max_size=5), VALUE), max_size=3)
ROWS = st.lists(st.tuples(TIMES, VALUE, VALUE, HEADERS), max_size=12)


def headers(count: int) -> Any:
    table = np.zeros(count, BATCH)
    for name in ("partition_leader_epoch", "producer_id", "producer_epoch", "base_sequence"):
        table[name] = -1
    return table


def source_of(rows: list[tuple[int, bytes | None, bytes | None, list[tuple[bytes, bytes | None]]]]) -> RecordColumns:
    flat = [header for *_, some in rows for header in some]
    return columns(
        len(rows),
        timestamp=np.array([row[0] for row in rows], np.int64),
        key=binary(*(row[1] for row in rows)),
        value=binary(*(row[2] for row in rows)),
        header_offsets=np.cumsum([0, *(len(row[3]) for row in rows)]).astype(np.int32),
        header_key=binary(*(name for name, _ in flat)),
        header_value=binary(*(value for _, value in flat)),
        header_rows=len(flat),
    )


def run(kernels: SimpleNamespace, source: RecordColumns, order: Any, ends: Any, **how: Any) -> tuple[Any, ...]:
    table, out = headers(how.get("batches", 40)), bytearray(how.get("room", 9000))
    stops = np.array(ends, np.int64)
    code, count, end = kernels.encode_runs(
        source, np.array(order, np.int32), stops, table, out, how.get("batch_size", 120), how.get("seal", True)
    )
    done = stops.tolist() if code == Code.DONE else None
    return code, count, end, bytes(out[:end]), table[:count].tolist(), done


@given(ROWS, st.data(), st.integers(0, 400), st.booleans())
@settings(max_examples=200)
def test_both_make_the_same_runs(rows: Any, data: st.DataObject, batch_size: int, seal: bool) -> None:
    order = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=20) if rows else st.just([]))
    ends = sorted(data.draw(st.lists(st.integers(0, len(order)), max_size=4)))
    how = {
        "batch_size": batch_size,
        "seal": seal,
        "batches": data.draw(st.sampled_from([40, 40, 0, 2])),
        "room": data.draw(st.sampled_from([9000, 9000, 0, 60, 61, 150, 400])),
    }
    compiled, reference = implementations.both()
    assert run(compiled, source_of(rows), order, ends, **how) == run(reference, source_of(rows), order, ends, **how)


def test_two_runs_become_batches_of_their_own(kernels: SimpleNamespace) -> None:
    source = columns(4, timestamp=np.array([5, 9, 7, 1]), key=binary(b"a", b"b", b"c", b"d"))
    code, count, end, data, _, stops = run(kernels, source, [3, 1, 0, 2], [2, 4], batch_size=BATCH_OVERHEAD + 20)
    one = record(0, b"d", None) + record(1, b"b", None, delta_ms=8)
    two = record(0, b"a", None) + record(1, b"c", None, delta_ms=2)
    expected = b"".join(
        batch(records, 2, last_offset_delta=1, base_timestamp=base, max_timestamp=latest)
        for records, base, latest in ((one, 1, 9), (two, 5, 7))
    )
    assert (code, count, end, stops) == (Code.DONE, 2, len(expected), [1, 2])
    assert data == expected


def test_without_a_seal_the_place_of_the_header_is_left_empty(kernels: SimpleNamespace) -> None:
    source = columns(1, key=binary(b"a"))
    code, _, end, data, table, _ = run(kernels, source, [0], [1], seal=False)
    assert code == Code.DONE
    assert data == bytes(BATCH_OVERHEAD) + record(0, b"a", None)
    assert np.array(table, BATCH)["size"].tolist() == [end]


@pytest.mark.parametrize(
    ("order", "ends"), [([0, 3], [2]), ([-1], [1]), ([0, 1], [3]), ([0, 1], [-1]), ([0, 1], [2, 1])]
)
def test_rows_that_do_not_exist_are_refused(kernels: SimpleNamespace, order: list[int], ends: list[int]) -> None:
    with pytest.raises(ValueError, match="rows"):
        run(kernels, columns(3, key=binary(b"a", b"b", b"c")), order, ends)


@pytest.mark.parametrize("name", spoiled())
def test_unsound_columns_are_refused(kernels: SimpleNamespace, name: str) -> None:
    with pytest.raises(ValueError, match="rows"):
        run(kernels, spoiled()[name], [0, 1], [2])
