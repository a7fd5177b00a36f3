"""The summary of all batches of a set."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from octavo.kernels import layout
from octavo.kernels.layout import BATCH, BATCH_SUMMARY
from tests.kernels import implementations

SOUND = {"magic": 2, "count": 3, "last_offset_delta": 2, "producer_id": -1, "base_sequence": -1}


def table_of(*rows: dict[str, int]) -> NDArray[np.void]:
    table = np.zeros(len(rows), BATCH)
    for row, fields in zip(table, rows, strict=True):
        for name, value in {**SOUND, **fields}.items():
            row[name] = value
    return table


def summary(kernels: SimpleNamespace, *rows: dict[str, int]) -> dict[str, Any]:
    return dict(zip(BATCH_SUMMARY, kernels.summarize_batches(table_of(*rows)), strict=True))


def test_flags_are_united_and_extremes_are_found(kernels: SimpleNamespace) -> None:
    found = summary(
        kernels,
        {"size": 70, "max_timestamp": -1, "partition_leader_epoch": 4, "attributes": 0x10 | 4, "flaws": 1},
        {"size": 90, "max_timestamp": 9, "partition_leader_epoch": -1, "attributes": 1, "flaws": 8, "magic": 1},
        {"size": 80, "max_timestamp": 5, "partition_leader_epoch": 3},
    )
    assert {name: found[name] for name in BATCH_SUMMARY[:8]} == {
        "flaws": 9, "attributes": 0x15, "max_codec": 4, "max_size": 90, "max_timestamp": 9, "min_epoch": -1,
        "max_epoch": 4, "min_magic": 1,
    }  # fmt: skip


def test_offsets_from_zero_and_ascending_ones_are_recognized(kernels: SimpleNamespace) -> None:
    for offsets, from_zero, ascending in (
        ((0,), True, True),
        ((0, 0), True, False),
        ((0, 3, 6), False, True),
        ((0, 3, 3), False, False),
        ((-3,), False, False),
        ((-2,), False, True),
    ):
        found = summary(kernels, *({"base_offset": offset} for offset in offsets))
        assert (found["from_zero"], found["ascending"]) == (from_zero, ascending), offsets


def test_what_a_producer_writes_is_recognized(kernels: SimpleNamespace) -> None:
    for fields, produced in (
        ({}, True),
        ({"count": 0, "last_offset_delta": -1}, False),
        ({"count": 4}, False),
        ({"attributes": layout.CONTROL}, False),
        ({"producer_id": 5}, False),
        ({"producer_id": 5, "base_sequence": 0}, True),
    ):
        assert summary(kernels, {}, fields)["produced"] is produced


def test_producers_and_the_first_and_last_offsets_are_found(kernels: SimpleNamespace) -> None:
    first, last = {"base_offset": 7, "position": 0, "size": 70}, {"base_offset": 90, "position": 70, "size": 80}
    found = summary(kernels, {**first, "magic": 1}, last)
    assert {name: found[name] for name in BATCH_SUMMARY[11:]} == {
        "with_producers": False, "first_magic": 1, "first_base_offset": 7, "first_last_offset": 9, "last_offset": 92,
        "end": 150,
    }  # fmt: skip
    assert summary(kernels, first, {**last, "producer_id": 0})["with_producers"] is True


def test_a_summary_of_nothing_has_no_offsets_epochs_or_times(kernels: SimpleNamespace) -> None:
    found = dict(zip(BATCH_SUMMARY, kernels.summarize_batches(np.empty(0, BATCH)), strict=True))
    assert {name for name, value in found.items() if value is True} == {"from_zero", "ascending", "produced"}
    unknown = {name for name in BATCH_SUMMARY if name.endswith(("offset", "epoch", "timestamp"))}
    assert {name for name, value in found.items() if value == -1} == unknown


@given(st.lists(st.binary(min_size=BATCH.itemsize, max_size=BATCH.itemsize), max_size=4))
def test_both_agree_on_any_rows(rows: list[bytes]) -> None:
    table = np.frombuffer(b"".join(rows), BATCH)
    compiled, reference = implementations.both()
    assert compiled.summarize_batches(table) == reference.summarize_batches(table)
