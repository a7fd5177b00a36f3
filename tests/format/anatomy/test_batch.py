"""The anatomy of batches and messages: every byte in its place, and problems named where they are."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from octavo.format.anatomy import Node, describe_batch, describe_incomplete
from octavo.format.batches.batch import Origin, build_batch
from octavo.format.batches.control import ControlType, EndTransactionMarker, build_marker_batch
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message, encode_message_set
from octavo.format.record import Header, Record
from octavo.kernels import layout
from tests.format.messages.encoded import build_kraft_batch
from tests.golden import archives

RECORDS = [
    Record(100, 1700000000000, b"k", b"v1", (Header("h", b"x"), Header("n", None))),
    Record(101, 1700000000005, None, b"v2"),
    Record(102, 1699999999999, b"k", None),
]
ORIGIN = Origin(producer_id=4000, producer_epoch=3, base_sequence=7, is_transactional=True)
BATCH = build_batch(RECORDS, partition_leader_epoch=5, origin=ORIGIN)


def describe(entry: bytes, position: int = 0) -> Node:
    return describe_batch(memoryview(entry), position)


def leaves(node: Node) -> Iterator[Node]:
    """The nodes without children, and attributes, whose children are bits of the same bytes."""
    if not node.children or node.name == "attributes":
        yield node
    else:
        for child in node.children:
            yield from leaves(child)


def named(node: Node, *path: str) -> Node:
    for name in path:
        (node,) = [child for child in node.children if child.name == name]
    return node


def test_every_byte_is_in_one_leaf() -> None:
    at = 1000
    for leaf in leaves(describe(BATCH, position=1000)):
        assert leaf.position == at
        assert leaf.raw == BATCH[at - 1000 : at - 1000 + leaf.length]
        at += leaf.length
    assert at == 1000 + len(BATCH)


def test_fields_have_values_and_meanings() -> None:
    node = describe(BATCH)
    assert not list(node.problems())
    assert node.meaning == "v2, offsets 100 to 102"
    assert [child.name for child in node.children] == [*layout.BATCH_FIELDS, "records"]
    assert named(node, "crc").value == 1188171229
    assert named(node, "baseTimestamp").meaning.startswith("2023-11-14 22:13:20.000 UTC")
    assert named(node, "baseSequence").meaning == "sequence of the batch's first record; its last has 9"
    assert named(node, "attributes", "isTransactional").value == 1
    assert named(node, "attributes", "isControl").value == 0
    record = named(node, "records", "record 0")
    assert (record.offset, record.meaning) == (100, "offset 100, sequence 7")
    assert named(record, "key").value == b"k"
    assert named(record, "header 1", "headerKey").value == b"n"
    assert named(record, "header 1", "headerValueLength").meaning == "varint: null"
    assert named(node, "records", "record 2", "timestampDelta").value == -1


def test_timestamps_without_a_date_are_described() -> None:
    node = describe(build_batch([Record(0, -1, None, b"v"), Record(1, 10**18, None, b"v")]))
    none, late = (named(node, "records", f"record {number}", "timestampDelta").meaning for number in (0, 1))
    assert none == "varlong: timestamp -1, no timestamp"
    assert late == "varlong: timestamp 1000000000000000000, a time outside the calendar"
    assert named(node, "maxTimestamp").meaning == "a time outside the calendar"


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_compressed_records_are_shown_in_the_unpacked_stream(codec: Codec) -> None:
    plain, packed = describe(build_batch(RECORDS)), describe(build_batch(RECORDS, codec=codec))
    records = named(packed, "records")
    assert f"{codec.name.lower()}, unpacks to" in records.meaning
    assert records.children[0].position == 0
    assert [child.raw for child in records.children] == [child.raw for child in named(plain, "records").children]


def test_control_records_are_shown_with_their_fields() -> None:
    marker = EndTransactionMarker(ControlType.COMMIT, 9)
    node = describe(build_marker_batch(marker, offset=103, timestamp=5, producer_id=4000, producer_epoch=3))
    record = named(node, "records", "record 0")
    assert named(record, "key", "type").meaning == "COMMIT"
    assert named(record, "value", "coordinatorEpoch").value == 9
    kraft = [(ControlType.SNAPSHOT_HEADER, {"version": 0, "lastContainedLogTimestamp": 7})]
    node = describe(build_kraft_batch(kraft, base_offset=0, timestamp=5, partition_leader_epoch=1))
    value = named(node, "records", "record 0", "value")
    assert value.meaning == '{"version":0,"lastContainedLogTimestamp":7}'
    unreadable = describe(build_batch([Record(0, 5, b"\0", None)], origin=Origin(is_control=True)))
    assert "a control record's key of 1 byte," in named(unreadable, "records", "record 0", "key").problem


def test_a_message_is_shown_with_its_fields() -> None:
    entry = encode_message(Record(0, 1500864000000, b"key", None), 1)
    node = describe(entry, position=50)
    assert b"".join(leaf.raw for leaf in leaves(node)) == entry
    assert named(node, "timestamp").meaning == "2017-07-24 02:40:00.000 UTC"
    assert named(node, "key").value == b"key"
    assert named(node, "valueLength").meaning == "null"


@pytest.mark.parametrize(("magic", "stored"), [(0, [1025, 1026]), (1, [0, 1])])
def test_a_wrapper_shows_its_messages_with_absolute_offsets(magic: int, stored: list[int]) -> None:
    records = [Record(1025, 5, None, b"a"), Record(1026, 6, b"k", b"b")]
    node = describe(encode_message_set(records, magic, codec=Codec.GZIP))
    assert node.meaning == f"v{magic}, gzip wrapper"
    inner = named(node, "value").children
    assert [child.offset for child in inner] == [1025, 1026]
    assert [named(child, "offset").value for child in inner] == stored
    assert inner[1].position == inner[0].length
    assert not list(node.problems())


def test_a_wrong_crc_is_named_and_the_rest_still_shown() -> None:
    damaged = bytearray(BATCH)
    damaged[-1] ^= 0xFF
    damaged[70] ^= 0x01
    node = describe(bytes(damaged))
    problems = {bad.name: bad.problem for bad in node.problems()}
    assert problems["crc"].startswith("stored 1188171229, computed ")
    assert len(named(node, "records").children) > 0


@pytest.mark.parametrize(
    ("count", "problem"),
    [(4, "3 records, expected the 4"), (2, "8 bytes are left"), (-1, "the header counts -1 records")],
)
def test_a_wrong_count_is_named(count: int, problem: str) -> None:
    damaged = BATCH[:57] + count.to_bytes(4, signed=True) + BATCH[61:]
    assert problem in named(describe(damaged), "records").problem


@pytest.mark.parametrize(("most", "rest"), [(1, "2 more records, which are"), (2, "1 more record, which is")])
def test_one_node_stands_for_the_records_that_are_not_shown(most: int, rest: str) -> None:
    *shown, last = named(describe_batch(memoryview(BATCH), 0, most=most), "records").children
    assert (len(shown), last.meaning) == (most, f"{rest} not shown")


def test_a_damaged_record_is_the_last_one_shown() -> None:
    damaged = bytearray(BATCH)
    damaged[layout.BATCH_OVERHEAD] = 0x7E
    (record,) = named(describe(bytes(damaged)), "records").children
    assert "a record of 63 bytes" in record.problem
    assert [part.name for part in record.children] == ["length"]


def test_what_cannot_be_unpacked_is_named() -> None:
    batch = build_batch(RECORDS, codec=Codec.ZSTD)
    assert "cannot be unpacked" in named(describe(batch[:61] + b"junk" + batch[65:]), "records").problem
    unknown = batch[:22] + b"\x07" + batch[23:]
    assert "codec 7" in named(describe(unknown), "records").problem
    assert "expected 0 none" in named(describe(unknown), "attributes", "compression").problem


def test_a_batch_too_short_for_a_header_shows_the_fields_that_are_there() -> None:
    node = describe(BATCH[:30])
    assert node.problem == "30 bytes, expected at least the 61 of a header"
    assert [child.name for child in node.children][-1] == "lastOffsetDelta"


def test_an_incomplete_batch_shows_the_fields_that_are_there() -> None:
    node = describe_incomplete(memoryview(BATCH[:20]), 7)
    assert [(child.name, child.position) for child in node.children] == [
        ("baseOffset", 7), ("batchLength", 15), ("partitionLeaderEpoch", 19), ("magic", 23), ("rest", 24),
    ]  # fmt: skip
    node = describe_incomplete(memoryview(encode_message(RECORDS[1], 0)[:17]), 0)
    assert [child.name for child in node.children] == ["offset", "size", "crc", "magic"]


@pytest.mark.parametrize("archive", ["upgrade-mixed", "v431-two-dirs"])
def test_sound_batches_of_real_brokers_have_no_problems(archive: str) -> None:
    for path in archives.files(archive, "*.log"):
        found = walk(path.read_bytes())
        for position, size in zip(found.table["position"].tolist(), found.table["size"].tolist(), strict=True):
            assert not list(describe_batch(found.data[position : position + size], position).problems())


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_any_bytes_have_an_anatomy(magic: int, codec: Codec) -> None:
    if magic == 2:
        entry = build_batch(RECORDS, codec=codec)
    else:
        known = codec if codec is not Codec.ZSTD else Codec.NONE
        plain = [record._replace(headers=()) for record in RECORDS]
        entry = encode_message_set(plain, magic, codec=known)
    random = Random(f"{magic} {codec}")
    for _ in range(400):
        damaged = bytearray(entry)
        for _ in range(random.randint(1, 4)):
            damaged[random.randrange(len(damaged))] = random.choice([0, 1, 2, 0x7F, 0x80, 0xFF, random.randrange(256)])
        cut = random.randrange(layout.LOG_OVERHEAD + layout.MIN_MESSAGE_SIZE, len(damaged) + 1)
        assert describe(bytes(damaged[:cut])).length == cut
