"""v0 and v1 messages one by one: as the kernel decodes them if they are sound, and leniently if they are not."""

from __future__ import annotations

import pytest

from octavo.errors import CorruptionError, CorruptRecordError, InvalidRecordError
from octavo.format.compression import Codec, compress
from octavo.format.legacy.message import FieldBeyondMessageError, Message, read_messages
from octavo.format.legacy.message_set import encode_message, encode_message_set
from octavo.format.record import Record, TimestampType
from octavo.kernels import layout

RECORDS = [Record(1025 + n, 7 * n, None if n % 2 else b"k%d" % n, None if n == 3 else b"v") for n in range(6)]
CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


def rows(entry: bytes) -> list[Record]:
    return [
        Record(message.offset, message.timestamp, message.key, message.value)
        for message in read_messages(memoryview(entry))
    ]


def wrapper(inner: bytes, offset: int = 5, magic: int = 1) -> bytes:
    return encode_message(Record(offset, 9, None, compress(Codec.GZIP, inner, magic=magic)), magic, Codec.GZIP)


def test_a_plain_message_is_read() -> None:
    entry = encode_message(RECORDS[0], 1)
    (message,) = read_messages(memoryview(entry))
    assert (message.offset, message.timestamp, message.key, message.value) == (1025, 0, b"k0", b"v")
    assert (message.key_size, message.value_size, message.is_valid) == (2, 1, True)
    assert message.crc == int.from_bytes(entry[12:16])
    assert message.timestamp_type is TimestampType.CREATE_TIME


@pytest.mark.parametrize("codec", CODECS)
def test_inner_messages_have_absolute_offsets(codec: Codec) -> None:
    assert rows(encode_message_set(RECORDS, 1, codec=codec)) == RECORDS
    without_time = [record._replace(timestamp=-1) for record in RECORDS]
    assert rows(encode_message_set(RECORDS, 0, codec=codec)) == without_time


def test_the_log_append_time_of_a_wrapper_is_that_of_its_messages() -> None:
    entry = encode_message_set(RECORDS, 1, codec=Codec.GZIP, log_append_time=99)
    assert {row.timestamp for row in rows(entry)} == {99}


def test_inner_messages_of_another_magic_are_read() -> None:
    inner = encode_message(RECORDS[0]._replace(offset=5), 0) + encode_message(RECORDS[1]._replace(offset=6), 1)
    assert [(row.offset, row.timestamp) for row in rows(wrapper(inner, offset=6))] == [(5, -1), (6, 7)]


def test_a_wrapper_without_an_offset_leaves_the_inner_ones() -> None:
    inner = encode_message(RECORDS[0]._replace(offset=3), 1)
    assert [row.offset for row in rows(wrapper(inner, offset=0))] == [3]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (encode_message(Record(5, 9, None, None), 1, Codec.GZIP), "null value"),
        (encode_message(Record(5, 9, None, b"x"), 1, 5), "codec 5"),
        (encode_message(Record(5, 9, None, b"x"), 1, Codec.ZSTD), "zstd"),
        (wrapper(b""), "without one whole message"),
        (wrapper(encode_message(RECORDS[0], 1)[:-1]), "without one whole message"),
        (wrapper(encode_message(RECORDS[0], 1)), "offset 5 is less than its last inner offset 1025"),
        (wrapper(wrapper(encode_message(RECORDS[0]._replace(offset=0), 1))), r"compressed message \(codec 1\) inside"),
        (wrapper(bytes(8) + (13).to_bytes(4) + bytes(13)), "an inner message of 13 bytes"),
    ],
)
def test_what_kafka_refuses_is_refused(entry: bytes, problem: str) -> None:
    with pytest.raises(CorruptionError, match=problem):
        rows(entry)


def test_messages_before_a_compressed_one_are_read() -> None:
    inner = encode_message(RECORDS[0]._replace(offset=4), 1) + encode_message(Record(5, 0, None, b""), 1, Codec.GZIP)
    messages = read_messages(memoryview(wrapper(inner)))
    assert next(messages).offset == 4
    with pytest.raises(InvalidRecordError):
        next(messages)


def test_a_value_beyond_its_message_still_has_a_size() -> None:
    entry = bytearray(encode_message(RECORDS[0], 1))
    entry[-5:-1] = (1 << 30).to_bytes(4)
    message = Message(memoryview(entry))
    assert message.value_size == 1 << 30
    assert message.key == b"k0"
    assert not message.is_valid
    with pytest.raises(FieldBeyondMessageError) as caught:
        _ = message.value
    assert (caught.value.size, caught.value.left) == (1 << 30, 1)


def test_a_v1_message_as_short_as_a_v0_one_has_a_timestamp_but_no_key() -> None:
    entry = layout.MESSAGE_V1.pack(0, layout.MIN_MESSAGE_SIZE, 0, 1, 0, 7)
    message = Message(memoryview(entry))
    assert message.timestamp == 7
    with pytest.raises(InvalidRecordError, match="a message of 26 bytes"):
        _ = message.key_size


def test_a_key_that_hides_the_value_is_refused() -> None:
    entry = bytearray(encode_message(RECORDS[0], 1))
    entry[26:30] = (2**31 - 1).to_bytes(4)
    with pytest.raises(InvalidRecordError):
        _ = Message(memoryview(entry)).value_size


def test_an_inner_message_of_size_0_is_corruption() -> None:
    with pytest.raises(CorruptRecordError):
        rows(wrapper(bytes(30)))
