"""Leader epochs: assignment, truncation at both ends, and where an epoch ended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from octavo.errors import CorruptionError
from octavo.kernels.layout import BATCH
from octavo.storage.log.epochs import EpochEnd, LeaderEpochs
from octavo.system.filesystem import LocalFileSystem


def epochs(folder: Path, *entries: tuple[int, int]) -> LeaderEpochs:
    found = LeaderEpochs(LocalFileSystem(), folder)
    for epoch, start_offset in entries:
        found.assign(epoch, start_offset)
    return found


def table(*rows: tuple[int, int, int]) -> NDArray[np.void]:
    made = np.zeros(len(rows), BATCH)
    for row, (magic, epoch, base_offset) in zip(made, rows, strict=True):
        row["magic"], row["partition_leader_epoch"], row["base_offset"] = magic, epoch, base_offset
    return made


def test_assigned_epochs_are_on_the_disk(tmp_path: Path) -> None:
    epochs(tmp_path, (0, 0), (2, 10), (2, 15))
    assert (tmp_path / "leader-epoch-checkpoint").read_bytes() == b"0\n2\n0 0\n2 10\n"
    assert list(epochs(tmp_path).entries) == [(0, 0), (2, 10)]


def test_new_epoch_removes_entries_that_contradict_it(tmp_path: Path) -> None:
    found = epochs(tmp_path, (0, 0), (2, 10), (5, 20))
    found.assign(3, 15)
    assert list(found.entries) == [(0, 0), (2, 10), (3, 15)]
    found.assign(4, 10)
    assert list(found.entries) == [(0, 0), (4, 10)]


def test_batches_assign_their_epochs_and_old_formats_clear_them(tmp_path: Path) -> None:
    found = epochs(tmp_path)
    found.assign_batches(table((2, 0, 0), (2, 0, 5), (2, 1, 9), (2, -1, 12)))
    assert list(found.entries) == [(0, 0), (1, 9)]
    found.assign_batches(table((1, -1, 20)))
    assert list(found.entries) == []
    found.assign_batches(table())
    assert found.latest_epoch is None


def test_recovery_assigns_only_greater_epochs(tmp_path: Path) -> None:
    found = epochs(tmp_path, (0, 0), (3, 10))
    found.assign_batches(table((1, -1, 0), (2, 2, 5), (2, 3, 12), (2, 4, 20)), only_greater=True)
    assert list(found.entries) == [(0, 0), (3, 10), (4, 20)]


def test_truncation_cuts_entries_at_both_ends(tmp_path: Path) -> None:
    found = epochs(tmp_path, (0, 0), (2, 10), (5, 20))
    found.truncate_from_end(20)
    assert list(found.entries) == [(0, 0), (2, 10)]
    found.truncate_from_start(5)
    assert list(found.entries) == [(0, 5), (2, 10)]
    found.truncate_from_start(12)
    assert list(found.entries) == [(2, 12)]
    assert list(epochs(tmp_path).entries) == [(2, 12)]


def test_the_epoch_of_our_own_appends_never_goes_backwards(tmp_path: Path) -> None:
    assert epochs(tmp_path).leader_epoch == 0
    found = epochs(tmp_path, (0, 0), (2, 80))
    found.truncate_from_end(80)
    assert (found.latest_epoch, found.leader_epoch) == (0, 2)
    found.clear()
    assert (found.latest_epoch, found.leader_epoch) == (None, 2)
    found.assign(3, 90)
    assert found.leader_epoch == 3


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [(0, EpochEnd(0, 10)), (1, EpochEnd(1, 10)), (2, EpochEnd(2, 20)), (3, EpochEnd(2, 20)), (5, EpochEnd(5, 30))],
)
def test_an_epoch_ends_where_the_next_one_begins(tmp_path: Path, epoch: int, expected: EpochEnd) -> None:
    found = epochs(tmp_path, (2, 10), (5, 20))
    assert found.end_offset_for(epoch, 30) == expected


def test_an_unknown_epoch_has_no_end(tmp_path: Path) -> None:
    assert epochs(tmp_path).end_offset_for(0, 30) is None
    assert epochs(tmp_path, (2, 10)).end_offset_for(3, 30) is None
    assert epochs(tmp_path, (2, 10)).end_offset_for(-1, 30) is None  # OffsetForLeaderEpoch's "undefined"


def test_an_offset_belongs_to_the_last_epoch_that_began_before_it(tmp_path: Path) -> None:
    found = epochs(tmp_path, (2, 10), (5, 20))
    assert [found.epoch_for_offset(offset) for offset in (9, 10, 19, 20)] == [None, 2, 2, 5]


def test_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "leader-epoch-checkpoint").write_bytes(b"0\n5\n0 0\n")
    with pytest.raises(CorruptionError, match=r"leader-epoch-checkpoint.*announces 5 entries"):
        epochs(tmp_path)
