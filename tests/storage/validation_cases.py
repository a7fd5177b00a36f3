"""The matrix of append validation: one row per check, with what real Kafka answers to a client and to a coordinator.

`interop/test_validation_with_kafka.py` puts every row to Kafka's own LogValidator; `storage/test_validate.py` holds
Octavo to it without a JVM.
"""

from __future__ import annotations

from collections.abc import Iterator

from octavo.format.batches.batch import build_batch, read_header
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message
from octavo.format.record import Record
from octavo.kernels import layout
from tests.format.exact_batches import empty_batch
from tests.storage.produced_sets import (
    GZIP,
    HOUR,
    MARKER,
    NOW,
    PLAIN,
    PRODUCER,
    THREE,
    UNKEYED,
    V0,
    V1,
    V1_GZIP,
    changed,
    content,
    cut_stream,
    flagged,
    numbered,
    old_set,
    records,
    with_content,
    wrapper,
)
from tests.storage.validation_case import (
    BROKEN,
    CORRUPT,
    ILLEGAL,
    INVALID,
    NULL,
    TIMESTAMP,
    UNSUPPORTED,
    Row,
    accepted,
    refused,
)

COMPACT = {"cleanup.policy": "compact"}
APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}
LIMITS = {"message.timestamp.before.max.ms": "1000", "message.timestamp.after.max.ms": "1000"}
TO_GZIP = {"compression.type": "gzip"}
TO_LZ4 = {"compression.type": "lz4"}
TO_PLAIN = {"compression.type": "uncompressed"}
LATE = old_set(records(NOW + 2 * HOUR), 1)


def of_sets() -> Iterator[Row]:
    yield refused("no batch", b"", INVALID)
    yield refused("two v2 batches", PLAIN * 2, INVALID)
    yield refused("two compressed v2 batches", GZIP * 2, INVALID)
    yield refused("two wrappers", V1_GZIP * 2, INVALID)
    yield refused("a message before a wrapper", V1 + V1_GZIP, INVALID)
    yield refused("v0 before v1", V0 + V1, INVALID)
    yield refused("v1 before v2", V1 + PLAIN, INVALID)
    yield refused("v1 before v2, compressed on append", V1 + PLAIN, INVALID, TO_LZ4)
    yield refused("v2 before v1", PLAIN + V1, INVALID)
    yield refused("v1 before compressed v2", V1 + GZIP, INVALID)
    yield refused("a late message before another magic", LATE + V0, TIMESTAMP, at=(0,))


def of_headers() -> Iterator[Row]:
    """Headers that a producer may not send; a coordinator may, as long as its records can be read."""
    for name, batch in (("plain", PLAIN), ("gzip", GZIP)):
        yield Row(f"{name}: an offset range of less than 1", changed(batch, last_offset_delta=-1), INVALID)
        yield Row(f"{name}: no records", changed(batch, count=0), INVALID)
        yield refused(f"{name}: a negative count", changed(batch, count=-1), INVALID)
        yield Row(f"{name}: a larger range than count", changed(batch, last_offset_delta=9), INVALID)
        yield Row(f"{name}: a smaller range than count", changed(batch, last_offset_delta=1), INVALID)
        fewer, more = changed(batch, count=2, last_offset_delta=1), changed(batch, count=4, last_offset_delta=3)
        yield refused(f"{name}: fewer records than there are", fewer, INVALID)
        yield refused(f"{name}: more records than there are", more, INVALID)
        yield Row(f"{name}: a producer without sequence", changed(batch, base_sequence=-1), INVALID)
        yield accepted(f"{name}: no producer", changed(batch, producer_id=-1, producer_epoch=-1, base_sequence=-1))
        yield accepted(f"{name}: transactional", flagged(batch, layout.TRANSACTIONAL))
    yield Row("a marker", MARKER, INVALID)
    yield Row("a marker, compacted", MARKER, INVALID, configs=COMPACT)
    yield Row("an emptied batch", empty_batch(read_header(PLAIN)), INVALID)


def of_unreadable_records() -> Iterator[Row]:
    for name, batch in (("plain", PLAIN), ("gzip", GZIP)):
        inside = content(batch)
        yield refused(f"{name}: bytes behind the last record", with_content(batch, inside + b"\0"), INVALID)
        yield refused(f"{name}: cut inside the last record", with_content(batch, inside[:-1]), INVALID)
        yield refused(f"{name}: -1 headers", with_content(batch, inside[:-1] + b"\x01"), INVALID)
    endless = b"\xff" * len(content(PLAIN))
    yield refused("plain: an endless varint", with_content(PLAIN, endless), ILLEGAL, ours=INVALID)
    yield refused("gzip: an endless varint", with_content(GZIP, endless), INVALID)
    shorter = bytes([content(PLAIN)[0] + 2]) + content(PLAIN)[1:]
    yield refused("plain: a record shorter than its length", with_content(PLAIN, shorter), INVALID)
    yield accepted("gzip: a record shorter than its length", with_content(GZIP, shorter), ours=INVALID)
    yield refused(
        "gzip: a record shorter than its length, recompressed", with_content(GZIP, shorter), INVALID, TO_PLAIN
    )
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD):
        broken = cut_stream(build_batch(THREE, codec=codec))
        yield refused(f"{codec.name.lower()}: a broken stream", broken, BROKEN, ours=INVALID)


def of_old_messages() -> Iterator[Row]:
    damaged_crc = V1[:-1] + bytes([V1[-1] ^ 1])
    yield refused("a wrapper without a value", wrapper(None), INVALID)
    yield refused("a wrapper without messages", wrapper(b""), INVALID)
    yield refused("a wrapper in a wrapper", wrapper(wrapper(V1)), INVALID)
    yield refused("a wrapper of v0 around zstd", wrapper(V0, magic=0, codec=Codec.ZSTD), INVALID)
    yield refused("v1 around v0", wrapper(V0), INVALID, at=(0, 1, 2))
    yield refused("v1 around both", wrapper(V1[: len(V1) // 3] + V0), INVALID, at=(1, 2, 3))
    yield refused("an inner CRC that is wrong", wrapper(damaged_crc), CORRUPT)
    yield refused("an inner message of 13 bytes", wrapper(bytes(11) + b"\x0d" + bytes(13)), CORRUPT)
    yield refused("a wrapper's offset below its messages'", wrapper(V1, offset=1), INVALID)
    yield accepted("a wrapper of offset 0", wrapper(V1, offset=0))
    yield accepted("a cut last inner message", wrapper(V1[:-1]))
    beyond = V1[:26] + (1000).to_bytes(4) + V1[30:]
    yield refused("v1: a key beyond the end", beyond, ILLEGAL, ours=INVALID)


def of_keys() -> Iterator[Row]:
    for name, data in (
        ("plain", build_batch(UNKEYED)),
        ("zstd", build_batch(UNKEYED, codec=Codec.ZSTD)),
        ("a wrapper", old_set(UNKEYED, 1, codec=Codec.SNAPPY)),
    ):
        yield accepted(f"{name}: null keys", data)
        yield refused(f"{name}: null keys, compacted", data, INVALID, COMPACT, at=(0, 2))
    both = {"cleanup.policy": "compact,delete", **TO_GZIP}
    yield refused("null keys, compacted and recompressed", build_batch(UNKEYED), INVALID, both, at=(0, 2))
    yield refused("v0: null keys, compacted", old_set(UNKEYED, 0), INVALID, COMPACT, at=(0,))
    yield refused("v1: a null key, compacted", old_set(UNKEYED[1:], 1), INVALID, COMPACT, at=(0,))
    yield accepted("empty keys, compacted", build_batch(records(NOW, keys=(b"",))), COMPACT)


def of_timestamps() -> Iterator[Row]:
    edges, beyond = records(NOW - 1000, NOW + 1000, -1), records(NOW - 1001, NOW, NOW + 1001, -1)
    for name, codec in (("plain", Codec.NONE), ("lz4", Codec.LZ4)):
        outside = build_batch(beyond, codec=codec)
        yield accepted(f"{name}: on the limits of time", build_batch(edges, codec=codec), LIMITS)
        yield refused(f"{name}: beyond the limits of time", outside, TIMESTAMP, LIMITS, at=(0, 2))
        yield accepted(f"{name}: beyond them with LogAppendTime", outside, {**LIMITS, **APPEND_TIME})
        yield accepted(f"{name}: an hour ahead, and 1970", build_batch(records(NOW + HOUR, 0), codec=codec))
        ahead = build_batch(records(NOW, NOW + HOUR + 1), codec=codec)
        yield refused(f"{name}: more than an hour ahead", ahead, TIMESTAMP, at=(1,))
        yield accepted(f"{name}: without timestamps", build_batch(records(-1, -1), codec=codec), LIMITS)
        mixed = build_batch(records(NOW - 2000, NOW, NOW - 2000, keys=(None, None, b"k")), codec=codec)
        yield refused(f"{name}: null keys and times", mixed, TIMESTAMP, {**COMPACT, **LIMITS}, at=(0, 1, 2))
        claimed = build_batch(THREE, codec=codec, log_append_time=NOW - 7)
        yield accepted(f"{name}: claims LogAppendTime", claimed)
        six = {"message.timestamp.before.max.ms": "6"}
        yield refused(f"{name}: claims LogAppendTime too early", claimed, TIMESTAMP, six, at=(0, 1, 2))
        yield refused(f"{name}: claims LogAppendTime to a topic of it", claimed, TIMESTAMP, APPEND_TIME, at=(0, 1, 2))
        untimed = build_batch(records(-1, -1), codec=codec, log_append_time=-1)
        yield refused(f"{name}: claims LogAppendTime without time", untimed, TIMESTAMP, at=(0, 1))
    yield refused("v1: a message too late", V1 + LATE, TIMESTAMP, at=(0,))
    late = old_set(records(NOW, NOW + 2 * HOUR, NOW + 3 * HOUR), 1, codec=Codec.LZ4)
    yield refused("a wrapper: messages too late", late, TIMESTAMP, at=(1, 2))
    claimed = wrapper(V1, attributes=layout.LOG_APPEND_TIME)
    yield accepted("a wrapper claims LogAppendTime", claimed)
    yield refused("a wrapper claims LogAppendTime to a topic of it", claimed, TIMESTAMP, APPEND_TIME, at=(0, 1, 2))
    ancient = changed(PLAIN, base_timestamp=-(2**63) + 10)
    yield refused("a timestamp at the end of 64 bits", ancient, TIMESTAMP, at=(0, 1, 2))
    before_1970 = changed(build_batch(records(100, 50)), base_timestamp=-7, max_timestamp=-7)
    yield accepted("before 1970", before_1970)
    yield refused("before 1970, recompressed", before_1970, ILLEGAL, TO_GZIP)
    yield refused("v1: before 1970", encode_message(Record(0, -7, b"k", b"v"), 1), ILLEGAL)
    yield accepted("v0: no time to limit", V0, LIMITS)


def of_ways() -> Iterator[Row]:
    """Sets that are changed in place, recompressed or converted: from each codec to each."""
    for codec in Codec:
        name, batch = codec.name.lower(), build_batch(THREE, codec=codec, origin=PRODUCER)
        wrong_time = changed(batch, max_timestamp=NOW + 77)
        for suffix, topic in (("", {}), (", LogAppendTime", APPEND_TIME)):
            for target in ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"):
                yield accepted(f"{name} to {target}{suffix}", batch, {"compression.type": target, **topic})
            yield accepted(f"{name}: a wrong largest timestamp{suffix}", wrong_time, topic)
            yield accepted(f"{name}: unknown attributes{suffix}", flagged(batch, 0x0180), topic)
            yield accepted(f"{name}: a delete horizon{suffix}", flagged(batch, layout.DELETE_HORIZON), topic)
            for magic in (0, 1) if codec is not Codec.ZSTD else ():
                old = old_set(THREE, magic, codec=codec)
                for target in ("producer", "zstd", "uncompressed"):
                    configs = {"compression.type": target, **topic}
                    yield accepted(f"v{magic} {name} to {target}{suffix}", old, configs)
    for level in ("1", "9"):
        yield accepted(f"gzip level {level}", PLAIN, {**TO_GZIP, "compression.gzip.level": level})


def of_rebuilt_batches() -> Iterator[Row]:
    """What only shows when a batch is built again."""
    odd, packed_odd = numbered(3, Codec.NONE), numbered(3, Codec.GZIP)
    yield accepted("plain: a record numbered 3", odd)
    yield accepted("plain: a record numbered 3, recompressed", odd, TO_GZIP)
    yield refused("gzip: a record numbered 3", packed_odd, UNSUPPORTED)
    yield accepted("gzip: a record numbered 3, recompressed", packed_odd, TO_LZ4)
    yield Row("a marker is not compressed", MARKER, INVALID, configs=TO_LZ4)
    yield Row("a marker with LogAppendTime", MARKER, INVALID, configs={**TO_LZ4, **APPEND_TIME})
    yield Row("a marker that does not begin at 0", changed(MARKER, base_offset=4), INVALID, ILLEGAL, configs=TO_LZ4)
    unsequenced = changed(PLAIN, base_sequence=-1)
    yield Row("a producer without sequence, recompressed", unsequenced, INVALID, ILLEGAL, configs=TO_LZ4)
    yield refused("a producer without epoch, recompressed", changed(PLAIN, producer_epoch=-1), ILLEGAL, TO_LZ4)
    nobody = changed(PLAIN, producer_id=-1, attributes=layout.TRANSACTIONAL)
    yield refused("transactional without producer, recompressed", nobody, ILLEGAL, TO_LZ4)
    emptied = empty_batch(read_header(PLAIN))
    yield Row("an emptied batch, recompressed", emptied, INVALID, configs=TO_GZIP)
    yield Row(
        "an emptied batch, recompressed with LogAppendTime", emptied, INVALID, NULL, configs=TO_GZIP | APPEND_TIME
    )
    unsequenced = changed(emptied, base_sequence=-1)
    yield Row("an emptied batch without sequence, recompressed", unsequenced, INVALID, ILLEGAL, configs=TO_GZIP)


ROWS = [
    *(*of_sets(), *of_headers(), *of_unreadable_records(), *of_old_messages()),
    *(*of_keys(), *of_timestamps(), *of_ways(), *of_rebuilt_batches()),
]
CASES = {str(case): case for row in ROWS for case in row.cases()}
