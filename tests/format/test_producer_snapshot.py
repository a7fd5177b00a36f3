"""The producer snapshot: Kafka's bytes, and every kind of damage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo import kernels
from octavo.errors import CorruptionError, EncodingError
from octavo.format.small_files import producer_snapshot
from octavo.format.small_files.producer_snapshot import ProducerEntry

KAFKA = bytes.fromhex(
    "00016e6c792e000000020000000000000fa00003000000090000000000000066000000020000018bcfe5680500000009000000000000006400"
    "00000000000fa10000ffffffffffffffffffffffff000000000000018bcfe56806ffffffffffffffffffffffff"
)
WITHOUT_PRODUCERS = bytes.fromhex("000148674bc700000000")
PRODUCERS = [
    ProducerEntry(4000, 3, 9, 102, 2, 1700000000005, 9, 100),
    ProducerEntry(4001, 0, -1, -1, 0, 1700000000006, -1, -1),
]


def test_kafkas_bytes_are_read_and_written() -> None:
    assert producer_snapshot.ENTRY.size == 46
    assert producer_snapshot.decode(KAFKA) == PRODUCERS
    assert producer_snapshot.encode(PRODUCERS) == KAFKA
    assert [producer.has_batch for producer in PRODUCERS] == [True, False]


def test_a_snapshot_may_have_no_producers() -> None:
    assert producer_snapshot.decode(WITHOUT_PRODUCERS) == []
    assert producer_snapshot.encode([]) == WITHOUT_PRODUCERS


def with_crc(content: bytes) -> bytes:
    """The snapshot with the right checksum for its content."""
    return content[:2] + kernels.crc32c(content[6:]).to_bytes(4, "big") + content[6:]


@pytest.mark.parametrize("length", range(10))
def test_a_file_without_a_whole_header_is_refused(length: int) -> None:
    with pytest.raises(CorruptionError, match=f"of {length} bytes?, expected 10 or more"):
        producer_snapshot.decode(KAFKA[:length])


@pytest.mark.parametrize("version", [0, 2, -1])
def test_another_version_is_refused(version: int) -> None:
    with pytest.raises(CorruptionError, match=f"of version {version}, expected 1"):
        producer_snapshot.decode(version.to_bytes(2, "big", signed=True) + KAFKA[2:])


@pytest.mark.parametrize("position", range(2, len(KAFKA)))
def test_a_flipped_bit_is_found(position: int) -> None:
    flipped = bytearray(KAFKA)
    flipped[position] ^= 0x10
    with pytest.raises(CorruptionError):
        producer_snapshot.decode(flipped)


@pytest.mark.parametrize("length", range(10, len(KAFKA)))
def test_a_cut_file_is_refused(length: int) -> None:
    with pytest.raises(CorruptionError, match="producer snapshot of 2 entries, but") as raised:
        producer_snapshot.decode(with_crc(KAFKA[:length]))
    assert raised.value.position == 6


@pytest.mark.parametrize("count", [-1, 3, 2**31 - 1, -(2**31)])
def test_a_count_beyond_the_file_is_refused(count: int) -> None:
    with pytest.raises(CorruptionError, match=f"producer snapshot of {count} entries, but 92 bytes"):
        producer_snapshot.decode(with_crc(KAFKA[:6] + count.to_bytes(4, "big", signed=True) + KAFKA[10:]))


def test_a_wrong_crc_is_named() -> None:
    with pytest.raises(CorruptionError, match=r"stored crc 1852602671, computed crc 1852602670") as raised:
        producer_snapshot.decode(KAFKA[:5] + b"\x2f" + KAFKA[6:])
    assert raised.value.position == 2


def test_a_shorter_snapshot_over_a_longer_one_is_refused() -> None:
    # Kafka writes without truncating the old file first.
    with pytest.raises(CorruptionError, match="stored crc"):
        producer_snapshot.decode(WITHOUT_PRODUCERS + KAFKA[10:])


def test_bytes_after_the_entries_pass_when_the_crc_covers_them() -> None:
    assert producer_snapshot.decode(with_crc(KAFKA + b"more")) == PRODUCERS


@pytest.mark.parametrize("change", [{"epoch": 2**15}, {"last_sequence": 2**31}, {"timestamp": 2**63}])
def test_numbers_that_do_not_fit_are_refused(change: dict[str, int]) -> None:
    with pytest.raises(EncodingError, match="an entry cannot hold producer_id 4000"):
        producer_snapshot.encode([PRODUCERS[0]._replace(**change)])


INT16, INT32, INT64 = (st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (16, 32, 64))


@given(st.lists(st.builds(ProducerEntry, INT64, INT16, INT32, INT64, INT32, INT64, INT32, INT64)))
def test_what_is_written_is_read_again(producers: list[ProducerEntry]) -> None:
    encoded = producer_snapshot.encode(producers)
    assert producer_snapshot.decode(encoded) == producers
    assert producer_snapshot.decode(memoryview(encoded)) == producers


@given(st.binary(max_size=300))
def test_any_bytes_decode_or_raise_the_documented_error(data: bytes) -> None:
    try:
        producer_snapshot.decode(with_crc(b"\x00\x01" + data))
    except CorruptionError as error:
        assert error.position is not None
