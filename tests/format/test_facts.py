"""The facts F1 to F16 of docs/compatibility.md, each as a test; some repeat examples of published documents."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace

import pytest

from octavo import kernels
from octavo.errors import CorruptRecordError, InvalidRecordError
from octavo.format.batches.batch import BatchTraits, Origin, build_batch, decode_batch, read_header
from octavo.format.batches.control import ControlType, EndTransactionMarker, build_marker_batch
from octavo.format.batches.convert import down_convert, up_convert
from octavo.format.batches.walker import walk
from octavo.format.compression import CODECS, Codec, decompress
from octavo.format.legacy.message_set import encode_message, encode_message_set
from octavo.format.record import Header, Record, TimestampType
from octavo.format.sequence import last_sequence
from octavo.format.varint import decode_varlong, encode_uvarint, encode_varint
from octavo.kernels.layout import Stop
from tests.format.exact_batches import empty_batch, encode_batch
from tests.format.stamped import stamp_batch, with_timestamp
from tests.format.unpacked import unpacked
from tests.golden import archives

TS0 = 1700000000000
LOG_APPEND_TIME = TimestampType.LOG_APPEND_TIME
PLAIN = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
RECORDS = [
    Record(100, TS0, b"k", b"v1", (Header("h", b"x"), Header("n", None))),
    Record(101, TS0 + 5, None, b"v2"),
    Record(102, TS0 - 1, b"k", None),
]
TRANSACTION = Origin(producer_id=4000, producer_epoch=3, base_sequence=7, is_transactional=True)
BATCH = bytes.fromhex(
    "000000000000006400000053000000050246d20ddd0010000000020000018bcfe568000000018bcfe568050000000000000fa0000300000007"
    "0000000320000000026b0476310402680278026e0110000a0201047632000e000104026b0100"
)
SEED_VALUE = b"this is for test partition log format"


# F1
def test_f1_a_batch_is_a_header_of_61_bytes_and_records() -> None:
    assert build_batch(RECORDS, partition_leader_epoch=5, origin=TRANSACTION) == BATCH
    fields = struct.unpack_from(">qiibIhiqqqhii", BATCH)
    assert struct.calcsize(">qiibIhiqqqhii") == 61
    assert fields == (100, len(BATCH) - 12, 5, 2, 0x46D20DDD, 0x10, 2, TS0, TS0 + 5, 4000, 3, 7, 3)
    assert decode_batch(BATCH)[1] == RECORDS


# F2
@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("appended", [False, True])
@pytest.mark.parametrize("is_transactional", [False, True])
@pytest.mark.parametrize("is_control", [False, True])
def test_f2_attributes_hold_codec_timestamp_type_and_flags(
    codec: Codec, appended: bool, is_transactional: bool, is_control: bool
) -> None:
    origin = replace(TRANSACTION, is_transactional=is_transactional, is_control=is_control)
    batch = build_batch(RECORDS, codec=codec, log_append_time=TS0 if appended else None, origin=origin)
    attributes = int.from_bytes(batch[21:23])
    assert attributes == codec | appended << 3 | is_transactional << 4 | is_control << 5
    header = read_header(batch)
    assert (header.codec_id, header.is_transactional, header.is_control) == (codec, is_transactional, is_control)
    assert (header.timestamp_type is LOG_APPEND_TIME) == appended


# F3
def test_f3_a_broker_assigns_offset_and_leader_epoch_without_a_new_crc() -> None:
    assert int.from_bytes(BATCH[17:21]) == kernels.crc32c(BATCH[21:])
    patched = (7000).to_bytes(8) + BATCH[8:12] + (12).to_bytes(4) + BATCH[16:]
    header, records = decode_batch(patched)
    assert (header.base_offset, header.partition_leader_epoch, header.crc) == (7000, 12, 0x46D20DDD)
    assert [record.offset for record in records] == [7000, 7001, 7002]
    for position in range(21, len(BATCH)):
        damaged = bytearray(BATCH)
        damaged[position] ^= 1
        with pytest.raises(CorruptRecordError, match="CRC"):
            decode_batch(damaged)


# F3
def test_f3_the_magic_says_what_lies_before_it() -> None:
    message = encode_message(Record(99, TS0, b"k", b"v"), 1)
    rows = walk(message + BATCH).table
    assert [int(row["crc"]) for row in rows] == [int.from_bytes(message[12:16]), int.from_bytes(BATCH[17:21])]
    assert [int(row["partition_leader_epoch"]) for row in rows] == [-1, 5]


# F4
def test_f4_a_record_is_made_of_varints_and_bytes() -> None:
    first = bytes.fromhex("20 00 00 00 02 6b 04 7631 04 02 68 02 78 02 6e 01")
    second = bytes.fromhex("10 00 0a 02 01 04 7632 00")
    third = bytes.fromhex("0e 00 01 04 02 6b 01 00")
    assert BATCH[61:] == first + second + third


# F4
@pytest.mark.parametrize("codec", [*PLAIN, Codec.ZSTD])
def test_f4_compression_leaves_the_header_plain(codec: Codec) -> None:
    batch = build_batch(RECORDS, codec=codec, partition_leader_epoch=5, origin=TRANSACTION)
    assert batch[23:61] == BATCH[23:61]  # from lastOffsetDelta to recordsCount
    assert batch[21:23] == (0x10 | codec).to_bytes(2)
    assert decompress(codec, batch[61:]) == BATCH[61:]


# F5
@pytest.mark.parametrize(("control_type", "key"), [(ControlType.ABORT, "00000000"), (ControlType.COMMIT, "00000001")])
def test_f5_a_control_batch_has_one_record_with_version_and_type(control_type: ControlType, key: str) -> None:
    marker = EndTransactionMarker(control_type, 9)
    batch = build_marker_batch(marker, offset=50, timestamp=TS0, producer_id=4000, producer_epoch=3)
    header, records = decode_batch(batch)
    assert header.is_control and [record.key for record in records] == [bytes.fromhex(key)]


# F6
@pytest.mark.parametrize(("magic", "smallest"), [(0, 14), (1, 22)])
def test_f6_messages_shorter_than_the_smallest_are_refused(magic: int, smallest: int) -> None:
    entry = encode_message(Record(7, TS0, None, None), magic)
    assert len(entry) == 12 + smallest
    assert int.from_bytes(entry[8:12]) == smallest
    assert int.from_bytes(entry[12:16]) == zlib.crc32(entry[16:])
    assert decode_batch(entry)[1] == [Record(7, TS0 if magic else -1, None, None)]
    for size in range(smallest):
        message = zlib.crc32(entry[16 : 12 + size]).to_bytes(4) + entry[16 : 12 + size]
        shorter = entry[:8] + size.to_bytes(4) + message[:size]
        with pytest.raises(CorruptRecordError if size < 14 else InvalidRecordError):
            decode_batch(shorter)


# F6
def test_f6_a_message_of_less_than_14_bytes_ends_the_walk() -> None:
    entry = encode_message(Record(7, TS0, None, None), 0)
    found = walk(entry + entry[:8] + (13).to_bytes(4) + bytes(13))
    assert (len(found.table), found.next_position, found.stop) == (1, 26, Stop.SIZE_TOO_SMALL)


# F7
def test_f7_the_published_v0_message_is_built_again() -> None:
    entry = encode_message(Record(0, -1, b"key", b"value"), 0)
    (stored,) = archives.files("seed-003-v0", "*.log")
    assert entry == stored.read_bytes()
    header = read_header(entry)
    assert (len(entry), header.crc, header.magic, header.codec_id) == (34, 592888119, 0, 0)


# F8
@pytest.mark.parametrize("codec", PLAIN)
@pytest.mark.parametrize(("magic", "inner_offsets"), [(0, range(1025, 1031)), (1, range(6))])
def test_f8_inner_offsets_are_absolute_in_v0_and_relative_in_v1(codec: Codec, magic: int, inner_offsets: range) -> None:
    records = [Record(offset, TS0 if magic else -1, b"k", b"v") for offset in range(1025, 1031)]
    wrapper = encode_message_set(records, magic, codec=codec)
    header, read = decode_batch(wrapper)
    assert header.base_offset == 1030  # the wrapper's own: that of its last message
    assert read == records
    ((_, inner),) = unpacked(wrapper)
    assert [int(row["base_offset"]) for row in walk(inner).table] == list(inner_offsets)
    assert wrapper[26 if magic else 18 :][:4] == b"\xff\xff\xff\xff"  # the wrapper's key is null


# F9
def test_f9_a_wrappers_timestamp_is_the_largest_or_the_brokers() -> None:
    records = [Record(offset, timestamp, None, b"v") for offset, timestamp in enumerate([TS0, TS0 + 9, TS0 + 3])]
    header, read = decode_batch(encode_message_set(records, 1, codec=Codec.GZIP))
    assert (header.max_timestamp, header.timestamp_type) == (TS0 + 9, TimestampType.CREATE_TIME)
    assert read == records
    appended = encode_message_set(records, 1, codec=Codec.GZIP, log_append_time=TS0 + 77)
    header, read = decode_batch(appended)
    assert (header.max_timestamp, header.timestamp_type) == (TS0 + 77, LOG_APPEND_TIME)
    assert [record.timestamp for record in read] == [TS0 + 77] * 3
    ((_, inner),) = unpacked(appended)
    assert [int(row["attributes"]) for row in walk(inner).table] == [0, 0, 0]  # the bit is on the wrapper alone
    assert [int(row["max_timestamp"]) for row in walk(inner).table] == [TS0, TS0 + 9, TS0 + 3]


# F10
def test_f10_log_append_time_changes_a_v1_message_and_its_crc() -> None:
    message = encode_message(Record(10, TS0, b"k", b"v1"), 1)
    stamped = with_timestamp(message, LOG_APPEND_TIME, TS0 + 7)
    assert stamped.hex() == "000000000000000a00000019d730294901080000018bcfe56807000000016b000000027631"
    assert {at for at in range(len(message)) if message[at] != stamped[at]} <= {*range(12, 16), *range(17, 26)}
    assert decode_batch(stamped)[1] == [Record(10, TS0 + 7, b"k", b"v1")]


# F10
@pytest.mark.parametrize("codec", Codec)
def test_f10_log_append_time_on_a_v2_batch_changes_its_header_alone(codec: Codec) -> None:
    batch = build_batch(RECORDS, codec=codec, partition_leader_epoch=5, origin=TRANSACTION)
    stamped = stamp_batch(batch, LOG_APPEND_TIME, TS0 + 7)
    changed = {at for at in range(len(batch)) if batch[at] != stamped[at]}
    assert changed <= {*range(17, 21), 22, *range(35, 43)}  # crc, attributes, maxTimestamp
    assert stamped[61:] == batch[61:]
    assert [record.timestamp for record in decode_batch(stamped)[1]] == [TS0 + 7] * 3
    assert stamp_batch(stamped, TimestampType.CREATE_TIME, TS0 + 5) == batch
    assert stamp_batch(stamped, LOG_APPEND_TIME, TS0 + 7) == stamped


# F11
def test_f11_varints_are_zigzag_in_groups_of_7_bits() -> None:
    assert encode_uvarint(300) == bytes.fromhex("ac02")
    assert [encode_varint(n).hex() for n in (-1, 1, -2, 63, 64)] == ["01", "02", "03", "7e", "8001"]
    assert [len(encode_varint(n)) for n in (0, 63, 64, 8191, 8192, 1048575)] == [1, 1, 2, 2, 3, 3]
    assert len(encode_varint(-(2**31))) == 5
    assert decode_varlong(b"\xff" * 9 + b"\x01", 0) == (-(2**63), 10)


# F12
@pytest.mark.parametrize(
    ("offset", "key", "timestamp", "crc"),
    [(0, b"0", 1547003374605, 505866327), (1, b"0", 1547003869957, 812988848), (3, b"1", 1547014144085, 2729488342)],
)
def test_f12_the_published_single_records_are_built_again(offset: int, key: bytes, timestamp: int, crc: int) -> None:
    batch = build_batch([Record(offset, timestamp, key, SEED_VALUE)], partition_leader_epoch=0)
    assert (len(batch), read_header(batch).crc) == (106, crc)
    stored = archives.files("seed-004-log-format", "00000000000000000000.log")[1].read_bytes()
    assert batch == stored[106 * offset : 106 * offset + 106]


# F13
def test_f13_the_published_batch_of_three_is_built_again() -> None:
    timestamps = [1547015227193, 1547015227208, 1547015227208]
    records = [Record(5 + at, timestamp, b"%d" % at, SEED_VALUE) for at, timestamp in enumerate(timestamps)]
    batch = build_batch(records, partition_leader_epoch=0)
    assert (len(batch), read_header(batch).crc) == (61 + 3 * 45, 3913926735)


# F14
def test_f14_compaction_keeps_a_batchs_offsets_and_sequences() -> None:
    header, records = decode_batch(BATCH)
    cleaned, kept = decode_batch(encode_batch(header, records[1:2]))
    assert kept == records[1:2]
    emptied, none = decode_batch(empty_batch(header))
    assert none == []
    for left in (cleaned, emptied):
        assert (left.base_offset, left.last_offset) == (100, 102)
        assert (left.base_sequence, last_sequence(left.base_sequence, left.last_offset_delta)) == (7, 9)
        assert (left.producer_id, left.producer_epoch, left.partition_leader_epoch) == (4000, 3, 5)


# F14
def test_f14_an_emptied_batch_is_its_header() -> None:
    batch = empty_batch(read_header(BATCH))
    assert batch.hex() == (
        "000000000000006400000031000000050274393298001000000002ffffffffffffffff0000018bcfe568050000000000000fa00003"
        "0000000700000000"
    )


# F15
def test_f15_codecs_have_kafkas_ids_and_names() -> None:
    assert [(codec.value, CODECS[codec].name) for codec in Codec] == [
        (0, "none"),
        (1, "gzip"),
        (2, "snappy"),
        (3, "lz4"),
        (4, "zstd"),
    ]


# F15
@pytest.mark.parametrize("produced", [Codec.NONE, *PLAIN])
@pytest.mark.parametrize("forced", [None, *Codec])
def test_f15_the_producers_codec_stays_unless_one_is_forced(produced: Codec, forced: Codec | None) -> None:
    messages = encode_message_set([Record(0, TS0, b"k", b"v"), Record(1, TS0, b"k", b"w")], 1, codec=produced)
    header = read_header(up_convert(messages, 2, None if forced is None else BatchTraits(codec=forced)))
    assert header.codec_id == (produced if forced is None else forced)


# F16
@pytest.mark.parametrize("codec", [Codec.NONE, *PLAIN])
def test_f16_v0_v1_and_v2_become_one_another(codec: Codec) -> None:
    records = [record._replace(headers=()) for record in RECORDS]
    without_time = [record._replace(timestamp=-1) for record in records]
    v0 = encode_message_set(without_time, 0, codec=codec)
    v1 = encode_message_set(records, 1, codec=codec)
    v2 = build_batch(records, codec=codec)
    assert unpacked(up_convert(v0, 1)) == unpacked(encode_message_set(without_time, 1, codec=codec))
    assert unpacked(up_convert(v0, 2)) == unpacked(build_batch(without_time, codec=codec))
    assert unpacked(up_convert(v1, 2)) == unpacked(v2)
    assert unpacked(down_convert(v2, 1)) == unpacked(v1)
    assert unpacked(down_convert(v2, 0)) == unpacked(v0) == unpacked(down_convert(v1, 0))
