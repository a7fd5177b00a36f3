"""The leader epoch checkpoint."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import CorruptionError, EncodingError
from octavo.format.small_files import leader_epochs
from octavo.format.small_files.leader_epochs import EpochEntry

ENTRIES = [EpochEntry(0, 0), EpochEntry(2, 10), EpochEntry(7, 55)]


def test_the_text_is_kafkas() -> None:
    assert leader_epochs.decode(b"0\n3\n0 0\n2 10\n7 55\n") == ENTRIES
    assert leader_epochs.encode(ENTRIES) == b"0\n3\n0 0\n2 10\n7 55\n"


def test_there_may_be_no_entries() -> None:
    assert leader_epochs.decode(b"") == leader_epochs.decode(b"0\n0\n") == []
    assert leader_epochs.encode([]) == b"0\n0\n"


@pytest.mark.parametrize(("offset", "epoch"), [(0, 0), (9, 0), (10, 2), (54, 2), (55, 7), (10**12, 7)])
def test_an_offset_has_the_epoch_of_the_last_entry_up_to_it(offset: int, epoch: int) -> None:
    assert leader_epochs.epoch_for_offset(ENTRIES, offset) == epoch


def test_offsets_before_the_first_entry_have_no_epoch() -> None:
    assert leader_epochs.epoch_for_offset(ENTRIES[1:], 9) is None
    assert leader_epochs.epoch_for_offset([], 9) is None


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1", "expected a line of epoch and start offset"),
        ("1 2 3", "expected a line of epoch and start offset"),
        (" 2", "expected a whole number"),
        ("x 2", "expected a whole number"),
        ("-1 2", "0 or more, found '-1 2'"),
        ("1 -2", "0 or more, found '1 -2'"),
        ("2147483648 2", "expected a number that fits in 32 bits"),
    ],
)
def test_wrong_lines_are_refused(line: str, problem: str) -> None:
    with pytest.raises(CorruptionError, match=problem) as raised:
        leader_epochs.decode(f"0\n1\n{line}\n".encode())
    assert raised.value.position == 4


@pytest.mark.parametrize("entry", [(-1, 0), (2**31, 0), (0, -1), (0, 2**63)])
def test_entries_that_cannot_be_written_are_refused(entry: tuple[int, int]) -> None:
    with pytest.raises(EncodingError, match="out of range"):
        leader_epochs.encode([EpochEntry(*entry)])


@given(st.lists(st.builds(EpochEntry, st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1))))
def test_round_trip(entries: list[EpochEntry]) -> None:
    assert leader_epochs.decode(leader_epochs.encode(entries)) == entries
