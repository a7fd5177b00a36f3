"""The transaction index: Kafka's bytes, damaged entries, search."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import CorruptionError, EncodingError
from octavo.format.indexes import txn_index
from octavo.format.indexes.txn_index import AbortedTxn

KAFKA = bytes.fromhex("00000000000000000fa0000000000000006400000000000000780000000000000079")
KAFKA_TXN = AbortedTxn(producer_id=4000, first_offset=100, last_offset=120, last_stable_offset=121)


def test_kafkas_bytes_are_read_and_written() -> None:
    assert txn_index.ENTRY.size == 34
    assert txn_index.decode(KAFKA) == ([KAFKA_TXN], 0)
    assert txn_index.encode([KAFKA_TXN]) == KAFKA
    txn_index.sanity_check([KAFKA_TXN], 120)


@pytest.mark.parametrize("cut", range(1, 34))
def test_a_cut_entry_is_ignored_but_reported(cut: int) -> None:
    assert txn_index.decode(KAFKA + KAFKA[:-cut]) == ([KAFKA_TXN], 34 - cut)


# Kafka checks only the first of the two bytes, as a signed number.
@pytest.mark.parametrize("version", ["0001", "00ff", "ff00", "8000"])
def test_versions_that_kafka_accepts_are_read(version: str) -> None:
    assert txn_index.decode(bytes.fromhex(version) + KAFKA[2:]).aborted == [KAFKA_TXN]


@pytest.mark.parametrize("version", [1, 2, 127])
def test_a_newer_version_is_refused(version: int) -> None:
    with pytest.raises(CorruptionError, match=f"of version {version}, expected 0") as raised:
        txn_index.decode(KAFKA + bytes([version]) + KAFKA[1:])
    assert raised.value.position == 34


def test_a_transaction_that_ends_before_the_segment_fails_the_check() -> None:
    with pytest.raises(CorruptionError, match="producer 4000 ends at offset 120, expected 121") as raised:
        txn_index.sanity_check([KAFKA_TXN._replace(last_offset=121), KAFKA_TXN], 121)
    assert raised.value.position == 34


@pytest.mark.parametrize("txn", [KAFKA_TXN._replace(producer_id=2**63), KAFKA_TXN._replace(last_offset=-(2**63) - 1)])
def test_numbers_that_do_not_fit_are_refused(txn: AbortedTxn) -> None:
    with pytest.raises(EncodingError, match="an entry cannot hold version 0, producer_id"):
        txn_index.encode([txn])


ABORTED = [AbortedTxn(1, 0, 10, 11), AbortedTxn(2, 5, 15, 12), AbortedTxn(1, 20, 30, 31)]
LATER = AbortedTxn(3, 0, 50, 51)  # in the next segment's index; it overlaps every range below


@pytest.mark.parametrize(
    ("fetch_offset", "upper_bound_offset", "slots", "is_complete"),
    [
        (0, 11, [0], True),  # the first entry's last stable offset reaches the bound: the search ends with it
        (0, 12, [0, 1], True),
        (0, 40, [0, 1, 2], False),
        (11, 40, [1, 2], False),
        (11, 20, [1], True),
        (16, 20, [], True),
        (31, 40, [], False),
    ],
)
def test_a_search_finds_what_overlaps_the_range(
    fetch_offset: int, upper_bound_offset: int, slots: list[int], is_complete: bool
) -> None:
    found = txn_index.search([*ABORTED, LATER], fetch_offset, upper_bound_offset)
    assert found == [*(ABORTED[slot] for slot in slots), *([] if is_complete else [LATER])]


INT64 = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.builds(AbortedTxn, INT64, INT64, INT64, INT64)))
def test_what_is_written_is_read_again(aborted: list[AbortedTxn]) -> None:
    assert txn_index.decode(txn_index.encode(aborted)) == (aborted, 0)


@given(st.binary(max_size=200))
def test_any_bytes_decode_or_raise_the_documented_error(data: bytes) -> None:
    try:
        index = txn_index.decode(data)
    except CorruptionError as error:
        assert error.position is not None
    else:
        assert len(index.aborted) * 34 + index.cut_bytes == len(data)
