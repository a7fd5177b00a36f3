"""Variable-length integers: Kafka's bytes, sizes and limits."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import CorruptionError, EncodingError, InvalidRecordError
from octavo.format import varint
from octavo.kernels.reference.varint import write_uvarint

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
UINT32 = st.integers(0, (1 << 32) - 1)

Decode = Callable[[bytes, int], tuple[int, int]]
DECODERS = [(varint.decode_uvarint, 5), (varint.decode_varint, 5), (varint.decode_varlong, 10)]


# F11
@pytest.mark.parametrize(
    ("encode", "decode", "number", "encoded"),
    [
        (varint.encode_uvarint, varint.decode_uvarint, 0, "00"),
        (varint.encode_uvarint, varint.decode_uvarint, 300, "ac02"),
        (varint.encode_uvarint, varint.decode_uvarint, 0xFFFF_FFFF, "ffffffff0f"),
        (varint.encode_varint, varint.decode_varint, 0, "00"),
        (varint.encode_varint, varint.decode_varint, -1, "01"),
        (varint.encode_varint, varint.decode_varint, 1, "02"),
        (varint.encode_varint, varint.decode_varint, -2, "03"),
        (varint.encode_varint, varint.decode_varint, 63, "7e"),
        (varint.encode_varint, varint.decode_varint, 64, "8001"),
        (varint.encode_varint, varint.decode_varint, (1 << 31) - 1, "feffffff0f"),
        (varint.encode_varint, varint.decode_varint, -(1 << 31), "ffffffff0f"),
    ],
)
def test_known_bytes_are_read_and_written(
    encode: Callable[[int], bytes], decode: Decode, number: int, encoded: str
) -> None:
    assert encode(number).hex() == encoded
    assert decode(bytes.fromhex(encoded), 0) == (number, len(encoded) // 2)


@pytest.mark.parametrize(
    ("number", "encoded"),
    [
        (-1, "01"),
        (64, "8001"),
        ((1 << 63) - 1, "feffffffffffffffff01"),
        (-(1 << 63), "ffffffffffffffffff01"),
        (-86500001, "c18abf52"),
    ],
)
def test_known_varlongs_are_read(number: int, encoded: str) -> None:
    assert varint.decode_varlong(bytes.fromhex(encoded), 0) == (number, len(encoded) // 2)


# F11
@pytest.mark.parametrize(
    ("first", "last", "size"),
    [(0, 63, 1), (64, 8191, 2), (8192, 1048575, 3), (1048576, 134217727, 4), (134217728, (1 << 31) - 1, 5)],
)
def test_a_varint_is_as_short_as_it_can_be(first: int, last: int, size: int) -> None:
    for number in (first, last, -first - 1, -last - 1):
        assert len(varint.encode_varint(number)) == size


# F11
def test_a_varint_has_at_most_5_bytes() -> None:
    assert max(len(varint.encode_varint(n)) for n in ((1 << 31) - 1, -(1 << 31))) == 5


@given(INT32, st.binary(max_size=3), st.binary(max_size=3))
def test_a_varint_is_read_as_it_was_written(number: int, before: bytes, after: bytes) -> None:
    encoded = varint.encode_varint(number)
    assert varint.decode_varint(before + encoded + after, len(before)) == (number, len(before) + len(encoded))


@given(INT64)
def test_a_varlong_is_read_as_it_was_written(number: int) -> None:
    encoded = write_uvarint((number << 1) ^ (number >> 63))
    assert varint.decode_varlong(memoryview(encoded), 0) == (number, len(encoded))


@given(UINT32)
def test_a_uvarint_is_read_as_it_was_written(number: int) -> None:
    encoded = varint.encode_uvarint(number)
    assert varint.decode_uvarint(bytearray(encoded), 0) == (number, len(encoded))


@pytest.mark.parametrize(("decode", "max_bytes"), DECODERS)
def test_longer_than_needed_is_accepted(decode: Decode, max_bytes: int) -> None:
    padded = b"\x82" + b"\x80" * (max_bytes - 2) + b"\x00"
    assert decode(padded, 0) == (decode(b"\x02", 0)[0], max_bytes)


def test_bits_beyond_the_type_are_dropped() -> None:
    assert varint.decode_uvarint(b"\xff\xff\xff\xff\x7f", 0) == (0xFFFF_FFFF, 5)
    assert varint.decode_varint(b"\xfe\xff\xff\xff\x7f", 0) == ((1 << 31) - 1, 5)
    assert varint.decode_varlong(b"\xfe" + b"\xff" * 8 + b"\x7f", 0) == ((1 << 63) - 1, 10)


@pytest.mark.parametrize(("decode", "max_bytes"), DECODERS)
def test_one_byte_too_many_is_refused(decode: Decode, max_bytes: int) -> None:
    with pytest.raises(InvalidRecordError, match=f"more than {max_bytes} bytes") as caught:
        decode(b"??" + b"\x80" * max_bytes + b"\x00", 2)
    assert caught.value.position == 2


@pytest.mark.parametrize(("decode", "max_bytes"), DECODERS)
def test_every_cut_is_refused(decode: Decode, max_bytes: int) -> None:
    for size in range(max_bytes):
        with pytest.raises(InvalidRecordError, match=f"ends after {size} bytes? ") as caught:
            decode(b"?" + b"\x80" * size, 1)
        assert caught.value.position == 1


@given(st.binary(max_size=12), st.integers(0, 14))
def test_garbage_is_read_or_refused(data: bytes, position: int) -> None:
    for decode, max_bytes in DECODERS:
        try:
            _, end = decode(data, position)
        except CorruptionError as error:
            assert error.position == position
        else:
            assert position < end <= min(len(data), position + max_bytes)


@pytest.mark.parametrize(
    ("function", "number"),
    [
        (varint.encode_uvarint, -1),
        (varint.encode_uvarint, 1 << 32),
        (varint.encode_varint, 1 << 31),
        (varint.encode_varint, -(1 << 31) - 1),
    ],
)
def test_numbers_out_of_range_are_refused(function: Callable[[int], object], number: int) -> None:
    with pytest.raises(EncodingError, match=str(number)):
        function(number)
