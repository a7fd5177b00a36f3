"""Which offsets are stable while transactions come and go."""

from __future__ import annotations

import pytest

from octavo.errors import IllegalStateError
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.storage.producers.transactions import CompletedTxn, Transactions


def started(*transactions: tuple[int, int]) -> Transactions:
    """Transactions in progress, each given as its producer and its first offset."""
    found = Transactions()
    for producer_id, first_offset in transactions:
        found.begin(producer_id, first_offset)
    return found


def test_nothing_is_unstable_without_transactions() -> None:
    transactions = Transactions()
    assert transactions.first_unstable_offset() is None and transactions.first_undecided_offset() is None


def test_a_transaction_is_unstable_until_the_high_watermark_passes_its_marker() -> None:
    transactions = started((7, 3), (8, 5))
    assert transactions.first_undecided_offset() == transactions.first_unstable_offset() == 3
    transactions.complete(CompletedTxn(7, 3, 9, is_aborted=False))
    assert transactions.first_undecided_offset() == 5 and transactions.first_unstable_offset() == 3
    transactions.forget_before(9)
    assert transactions.first_unstable_offset() == 3, "the marker itself is not below the high watermark"
    transactions.forget_before(10)
    assert transactions.first_unstable_offset() == 5
    transactions.complete(CompletedTxn(8, 5, 10, is_aborted=True))
    transactions.forget_before(11)
    assert transactions.first_unstable_offset() is None


@pytest.mark.parametrize(("log_start_offset", "expected"), [(0, 3), (3, 3), (6, 6), (12, 12)])
def test_nothing_is_unstable_before_the_log_starts(log_start_offset: int, expected: int) -> None:
    assert started((7, 3)).first_unstable_offset(log_start_offset) == expected


@pytest.mark.parametrize(
    ("others", "expected"), [([], 10), ([(8, 2)], 2), ([(8, 5), (9, 6)], 5), ([(7, 9), (8, 11)], 11), ([(7, 9)], 10)]
)
def test_an_index_entry_shows_where_another_transaction_begins(others: list[tuple[int, int]], expected: int) -> None:
    transactions = started((7, 3), *others)
    completed = CompletedTxn(7, 3, 9, is_aborted=True)
    assert transactions.index_entry(completed) == AbortedTxn(7, 3, 9, expected)
    assert transactions.index_entry(completed._replace(is_aborted=False)) is None


def test_transactions_are_in_the_order_of_their_offsets() -> None:
    transactions = started((7, 30), (8, 10), (9, 20), (6, 40))
    assert list(transactions.ongoing.items()) == [(10, 8), (20, 9), (30, 7), (40, 6)]


def test_only_a_transaction_that_began_is_completed() -> None:
    with pytest.raises(IllegalStateError, match="no ongoing transaction has this first offset"):
        started((7, 3)).complete(CompletedTxn(7, 4, 9, is_aborted=True))
