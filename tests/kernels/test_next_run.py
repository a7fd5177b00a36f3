"""The rows of a table are grouped into runs, each of which one call decodes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.kernels.layout import BATCH, Flaw, Kind
from tests.golden import strings
from tests.kernels import implementations
from tests.kernels.hand_made import batch, message, record

MANY = 1 << 40


def table_of_walk(kernels: SimpleNamespace, data: bytes) -> np.ndarray:
    table = np.zeros(100, BATCH)
    return table[: kernels.walk(data, 0, len(data), table)[0]]


def runs(kernels: SimpleNamespace, data: bytes, max_bytes: int = MANY) -> list[tuple[int, int, int, int]]:
    table, first, found = table_of_walk(kernels, data), 0, []
    while first < len(table):
        found.append(kernels.next_run(table, first, max_bytes))
        assert found[-1][1] > first
        first = found[-1][1]
    return found


def test_every_kind_forms_runs_of_its_own(kernels: SimpleNamespace) -> None:
    one = batch(record(), 1)
    short, unknown = batch(b"", 1, size=14)[:26], batch(record(), 1, magic=3)
    plain, packed, wrapper = one + one, strings.BATCHES["gzip"] * 3, strings.WRAPPERS["v1_gzip"] * 2
    data = plain + packed + strings.MESSAGES["v0"] + strings.MESSAGES["v1"] + wrapper + unknown + short + one
    assert runs(kernels, data) == [
        (Kind.PLAIN, 2, 2, 2 * len(record())),
        (Kind.PACKED, 5, 3, 3 * (len(strings.BATCHES["gzip"]) - 61)),
        (Kind.MESSAGE, 9, 4, len(strings.MESSAGES["v0"] + strings.MESSAGES["v1"])),
        (Kind.WRAPPER, 11, 0, len(wrapper) - 2 * 61),
        (Kind.UNREADABLE, 13, 1, len(record())),
        (Kind.PLAIN, 14, 1, len(record())),
    ]


def test_a_count_is_not_believed_beyond_its_bytes(kernels: SimpleNamespace) -> None:
    data = batch(record(), 2**31 - 1) + batch(b"\0" * 14, 5) + batch(record(), -7) + batch(b"", 1)
    assert runs(kernels, data) == [(Kind.PLAIN, 4, 1 + 2, 2 * len(record()) + 14)]


def test_a_run_of_batches_ends_when_it_is_long_enough(kernels: SimpleNamespace) -> None:
    area = len(record())
    data = batch(record(), 1) * 5
    assert [run[1] for run in runs(kernels, data, 0)] == [1, 2, 3, 4, 5]
    assert [run[1] for run in runs(kernels, data, area)] == [1, 2, 3, 4, 5]
    assert [run[1] for run in runs(kernels, data, area + 1)] == [2, 4, 5]
    assert [run[1] for run in runs(kernels, data, 5 * area)] == [5]


def test_a_row_above_the_limit_is_a_run_by_itself(kernels: SimpleNamespace) -> None:
    small, large = batch(record(), 1), batch(record(0, b"", b"v" * 1000), 1)
    assert [run[1] for run in runs(kernels, small + small + large + small, 500)] == [2, 3, 4]


def test_messages_of_a_run_lie_one_after_another(kernels: SimpleNamespace) -> None:
    table = table_of_walk(kernels, message() * 5)
    size = len(message())
    for rows, expected in (([0, 1, 2, 3, 4], 5), ([0, 1, 3, 4], 2), ([0, 2, 1, 3], 1), ([1, 1, 2], 1)):
        assert kernels.next_run(table[rows], 0, MANY) == (Kind.MESSAGE, expected, expected, expected * size)


@pytest.mark.parametrize("first", [-1, 2, 2**40])
def test_a_row_outside_the_table_is_refused(kernels: SimpleNamespace, first: int) -> None:
    with pytest.raises(ValueError, match=f"row {first} is not in a table of 2 rows"):
        kernels.next_run(np.zeros(2, BATCH), first, MANY)


ROWS = st.fixed_dictionaries(
    {
        "position": st.integers(0, 100),
        "size": st.sampled_from([0, 26, 30, 61, 70, 2**31 - 1, -1, -(2**31)]),
        "count": st.sampled_from([0, 1, -1, 9, 2**31 - 1, -(2**31)]),
        "attributes": st.integers(0, 9),
        "magic": st.sampled_from([0, 1, 2, 2, 3, -1]),
        "flaws": st.sampled_from([0, 0, Flaw.TOO_SHORT, Flaw.UNKNOWN_MAGIC, Flaw.CRC_MISMATCH, Flaw.UNCHECKED]),
    }
)


@given(st.lists(ROWS, min_size=1, max_size=8), st.sampled_from([0, 1, 50, 1000, MANY]), st.data())
def test_both_group_any_table_alike(rows: list[dict[str, int]], max_bytes: int, data: st.DataObject) -> None:
    compiled, reference = implementations.both()
    table = np.zeros(len(rows), BATCH)
    for place, row in zip(table, rows, strict=True):
        for name, value in row.items():
            place[name] = value
    first = data.draw(st.integers(0, len(rows) - 1))
    assert compiled.next_run(table, first, max_bytes) == reference.next_run(table, first, max_bytes)
