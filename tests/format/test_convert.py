"""Conversion between v0, v1 and v2: what Kafka's own classes made of the same sets, and what must not be lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import (
    CorruptionError,
    CorruptRecordError,
    EncodingError,
    InvalidRecordError,
    UnsupportedCompressionTypeError,
)
from octavo.format.batches.batch import BatchTraits, build_batch, build_columns, decode_batch
from octavo.format.batches.convert import down_convert, rewrite_as_v2, up_convert
from octavo.format.batches.row_columns import from_records
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message, encode_message_set
from octavo.format.record import Header, Record
from tests.format.unpacked import records_of, unpacked
from tests.golden import strings

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data" / "convert.json").read_text())
SETS = {name: bytes.fromhex(data) for name, data in GOLDEN["sets"].items()}
TS0 = 1700000000000
CONVERSIONS: list[Callable[[bytearray], bytes]] = [
    lambda data: down_convert(data, 0),
    lambda data: up_convert(data, 2),
    rewrite_as_v2,
]


def cases(operation: str) -> list[Any]:
    chosen = [case for case in GOLDEN["cases"] if case["operation"] == operation]
    return [pytest.param(case, id=" ".join(str(case[key]) for key in case if key != "result")) for case in chosen]


def assert_same(ours: bytes, theirs: bytes) -> None:
    """Equal byte for byte, except that compressed parts only need the same content."""
    assert unpacked(ours) == unpacked(theirs)


# F16
@pytest.mark.parametrize("case", cases("down_convert"))
def test_down_as_kafka_3_9_2_does(case: dict[str, Any]) -> None:
    data = SETS[case["set"]]
    if "error" in case:
        assert case["error"] == "UnsupportedCompressionTypeException"
        with pytest.raises(UnsupportedCompressionTypeError, match="zstd, which magic 0 and 1 do not support"):
            down_convert(data, case["to_magic"], case["first_offset"])
    else:
        assert_same(down_convert(data, case["to_magic"], case["first_offset"]), bytes.fromhex(case["result"]))


# F16
@pytest.mark.parametrize("case", cases("append"))
def test_up_as_the_log_validator_does(case: dict[str, Any]) -> None:
    traits = BatchTraits(
        codec=Codec(case["codec"]),
        log_append_time=case["log_append_time"],
        partition_leader_epoch=case["partition_leader_epoch"],
    )
    found = up_convert(SETS[case["set"]], case["to_magic"], traits, case["first_offset"])
    assert_same(found, bytes.fromhex(case["result"]))


# F16
@pytest.mark.parametrize("case", cases("rewrite"))
def test_rewritten_as_the_cleaner_does(case: dict[str, Any]) -> None:
    assert_same(rewrite_as_v2(SETS[case["set"]]), bytes.fromhex(case["result"]))


V0_MESSAGES, V1_MESSAGES, V1_LZ4 = strings.MESSAGES["v0"], strings.MESSAGES["v1"], strings.WRAPPERS["v1_lz4"]


# F16
@pytest.mark.parametrize(
    ("stored", "cleaned"),
    [
        pytest.param(
            V0_MESSAGES,
            "000000000000000a0000003bffffffff022c6b5f74000000000000ffffffffffffffffffffffffffffffffffffffffffffffffff"
            "ffffffffff0000000112000000026b04763100000000000000000b0000003affffffff02e4221cda000000000000ffffffffffff"
            "ffffffffffffffffffffffffffffffffffffffffffffffff00000001100000000104763200",
            id="v0",
        ),
        pytest.param(
            V1_MESSAGES,
            "000000000000000a0000003bffffffff020f7768850000000000000000018bcfe568000000018bcfe56800ffffffffffffffffff"
            "ffffffffff0000000112000000026b04763100000000000000000b0000003affffffff0296cab7a30000000000000000018bcfe5"
            "68050000018bcfe56805ffffffffffffffffffffffffffff00000001100000000104763200",
            id="v1",
        ),
        pytest.param(
            V1_LZ4,
            "000000000000000a00000053ffffffff020d9b20950003000000010000018bcfe568000000018bcfe56805ffffffffffffffffff"
            "ffffffffff0000000204224d186040821300008012000000026b0476310010000a02010476320000000000",
            id="v1 lz4",
        ),
        pytest.param(
            strings.MESSAGES["v1_appended"],
            "000000000000000a0000003bffffffff0214128b260008000000000000018bcfe568070000018bcfe56807ffffffffffffffffff"
            "ffffffffff0000000112000000026b04763100",
            id="v1 LogAppendTime",
        ),
    ],
)
def test_old_sets_are_rewritten_as_a_4_3_1_cleaner_left_them(stored: bytes, cleaned: str) -> None:
    assert_same(rewrite_as_v2(stored), bytes.fromhex(cleaned))


@pytest.mark.parametrize(
    ("message", "cleaned"),
    [
        pytest.param(
            encode_message(Record(10, -1, b"k", None), 0),
            "000000000000000a0000003effffffff024e93961a0040000000000000018bd50d4aa0ffffffffffffffffffffffffffffffffff"
            "ffffffffff000000011800c1aaead0fa6200026b0100",
            id="v0",
        ),
        pytest.param(
            encode_message(Record(10, TS0, b"k", None), 1),
            "000000000000000a0000003cffffffff029ae3e8ba0040000000000000018bd50d4aa00000018bcfe56800ffffffffffffffffff"
            "ffffffffff000000011400bf8abf5200026b0100",
            id="v1",
        ),
    ],
)
def test_an_old_tombstone_gets_its_horizon_like_any_other(message: bytes, cleaned: str) -> None:
    _, records = decode_batch(message)
    assert build_columns(from_records(records), BatchTraits(delete_horizon_ms=TS0 + 86500000)) == bytes.fromhex(cleaned)


def test_what_a_lower_magic_cannot_hold_is_lost_and_nothing_else() -> None:
    records = [Record(5, TS0, b"k", b"v", (Header("h", b"x"),)), Record(9, TS0 - 3, None, None)]
    batch = build_batch(records, codec=Codec.GZIP, partition_leader_epoch=3)
    v1 = [record._replace(headers=()) for record in records]
    assert records_of(down_convert(batch, 1)) == v1
    assert records_of(down_convert(batch, 0)) == [record._replace(timestamp=-1) for record in v1]
    assert down_convert(batch, 2) == batch


def test_a_compressed_batch_keeps_its_records_before_the_first_offset() -> None:
    records = [Record(offset, TS0, b"k", b"v") for offset in range(4)]
    assert [record.offset for record in records_of(down_convert(build_batch(records), 1, 2))] == [2, 3]
    gzipped = build_batch(records, codec=Codec.GZIP)
    assert [record.offset for record in records_of(down_convert(gzipped, 1, 2))] == [0, 1, 2, 3]
    assert down_convert(build_batch(records), 1, 4) == b""


def test_an_up_conversion_makes_one_batch_of_a_whole_set() -> None:
    messages = encode_message_set([Record(offset, TS0, b"k", b"v") for offset in (3, 4, 8)], 1)
    header, records = decode_batch(up_convert(messages, 2, BatchTraits(partition_leader_epoch=6), 100))
    assert (header.base_offset, header.count, header.partition_leader_epoch) == (100, 3, 6)
    assert [record.offset for record in records] == [100, 101, 102]
    assert [record.offset for record in records_of(up_convert(messages, 2))] == [3, 4, 8]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no whole message"),
        (V0_MESSAGES[:20], "no whole message"),
        (V0_MESSAGES + V1_MESSAGES, "position 57: magic 1 in a set that begins with magic 0"),
        (V1_MESSAGES + V1_LZ4, "position 73: a compressed message among others"),
        (V1_LZ4 + V1_MESSAGES, "position 0: a compressed message among others"),
    ],
)
def test_sets_that_no_producer_may_send_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(InvalidRecordError, match=said):
        up_convert(data, 2)


@pytest.mark.parametrize(("data", "to_magic"), [(V0_MESSAGES, 0), (V1_MESSAGES, 1), (V1_MESSAGES, 0)])
def test_an_up_conversion_to_the_same_or_a_lower_magic_is_refused(data: bytes, to_magic: int) -> None:
    with pytest.raises(EncodingError, match="cannot be converted up to"):
        up_convert(data, to_magic)


@pytest.mark.parametrize("magic", [-1, 3])
def test_magics_are_0_1_and_2(magic: int) -> None:
    for convert in (down_convert, up_convert):
        with pytest.raises(EncodingError, match=f"magic {magic}, expected 0, 1 or 2"):
            convert(V1_MESSAGES, magic)


def test_zstd_is_not_for_v1() -> None:
    with pytest.raises(UnsupportedCompressionTypeError, match="zstd"):
        up_convert(V0_MESSAGES, 1, BatchTraits(codec=Codec.ZSTD))


def test_a_damaged_batch_is_not_given_a_new_checksum() -> None:
    damaged = bytearray(V1_MESSAGES)
    damaged[-1] ^= 1
    for convert in CONVERSIONS:
        with pytest.raises(CorruptRecordError, match="position 37: a batch whose CRC"):
            convert(damaged)
    assert down_convert(damaged, 1) == damaged  # left unchanged, for the consumer to see


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (bytes(20), "position 0: a batch of length 0, expected at least 14"),
        (V0_MESSAGES + bytes(61), "position 57: a batch of length 0, expected at least 14"),
        (bytes.fromhex("0000000000000000" "00000014" "00000000" "02") + bytes(15), "a batch of 32 bytes, expected"),
        (bytes.fromhex("0000000000000000" "00000031" "00000000" "03") + bytes(44), "magic 3, expected 0, 1 or 2"),
    ],
)  # fmt: skip
def test_broken_framing_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(CorruptRecordError, match=said):
        down_convert(data, 1)


def test_a_timestamp_below_minus_1_is_refused() -> None:
    with pytest.raises(EncodingError, match="timestamp -2"):
        rewrite_as_v2(encode_message(Record(0, -2, None, b"v"), 1))


KEYS = st.none() | st.binary(max_size=6)
ROWS = st.lists(st.tuples(st.integers(-1, 2**62), KEYS, KEYS), min_size=1, max_size=6)


@given(ROWS, st.sampled_from([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]), st.integers(0, 2**62))
def test_up_and_down_again_gives_the_same_messages(
    rows: list[tuple[int, bytes | None, bytes | None]], codec: Codec, first: int
) -> None:
    records = [Record(offset, *row) for offset, row in enumerate(rows, first)]
    messages = encode_message_set(records, 1, codec=codec)
    up = up_convert(messages, 2)
    assert records_of(up) == records
    assert_same(down_convert(up, 1), messages)
    assert records_of(down_convert(up, 0)) == [record._replace(timestamp=-1) for record in records]


@given(st.sampled_from(sorted(SETS)), st.data())
def test_mutated_sets_are_converted_or_refused(name: str, data: st.DataObject) -> None:
    mutated = bytearray(SETS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        mutated[data.draw(st.integers(0, len(mutated) - 1))] = data.draw(st.integers(0, 255))
    for convert in CONVERSIONS:
        with suppress(CorruptionError, EncodingError):
            convert(mutated)
