"""What the fields of batches and messages mean, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from octavo.format.anatomy.node import Meanings, Node
from octavo.format.compression import CODECS
from octavo.format.sequence import last_sequence
from octavo.kernels import layout
from octavo.kernels.integers import signed64

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_CODEC_NAMES = {int(codec): row.name for codec, row in CODECS.items()}

Fields = Mapping[str, int]


def time_text(timestamp: int) -> str:
    """A timestamp in readable form; empty if it is outside the calendar."""
    try:
        moment = _EPOCH + timedelta(milliseconds=timestamp)
    except OverflowError:
        return ""
    return moment.isoformat(sep=" ", timespec="milliseconds").replace("+00:00", " UTC")


def timestamp_meaning(timestamp: int) -> str:
    if timestamp == layout.NO_TIMESTAMP:
        return "no timestamp"
    return time_text(timestamp) or "a time outside the calendar"


def crc_node(node: Node, algorithm: str, computed: int, covered: int) -> Node:
    """The node of a stored checksum, compared with the one computed over `covered` bytes."""
    if computed == node.value:
        return replace(node, meaning=f"{algorithm} of the {covered} bytes after it")
    stored = int.from_bytes(node.raw)
    return replace(node, problem=f"stored {stored}, computed {computed}: this field or bytes after it have changed")


def codec_text(attributes: int) -> str:
    """The codec's name; empty for an unknown id."""
    return _CODEC_NAMES.get(attributes & layout.CODEC_MASK, "")


def attribute_flags(attributes: int, magic: int) -> list[str]:
    """The flags that are set, in the order of their bits."""
    flags = ["LogAppendTime"] if magic > 0 and attributes & layout.LOG_APPEND_TIME else []
    if magic >= 2:
        names = {layout.TRANSACTIONAL: "transactional", layout.CONTROL: "control"}
        names[layout.DELETE_HORIZON] = "delete horizon"
        flags += [name for bit, name in names.items() if attributes & bit]
    return flags


def attribute_nodes(attributes: Node, magic: int) -> tuple[Node, ...]:
    """The bits of a batch's or message's attributes, one by one."""
    number = attributes.value if isinstance(attributes.value, int) else 0
    position, raw = attributes.position, attributes.raw
    codec = codec_text(number)
    unknown = "" if codec else "expected 0 none, 1 gzip, 2 snappy, 3 lz4 or 4 zstd"
    nodes = [Node("compression", position, raw, number & layout.CODEC_MASK, f"bits 0-2: {codec or '?'}", unknown)]
    if magic > 0:
        appended = number & layout.LOG_APPEND_TIME
        whose = "LogAppendTime, the broker's clock" if appended else "CreateTime, the producer's clock"
        nodes.append(Node("timestampType", position, raw, int(appended > 0), f"bit 3: {whose}"))
    if magic >= 2:
        for name, mask, bit, meaning in _BATCH_FLAGS:
            answer = meaning[1] if number & mask else meaning[0]
            nodes.append(Node(name, position, raw, int(number & mask > 0), f"bit {bit}: {answer}"))
    return tuple(nodes)


_BATCH_FLAGS = (
    ("isTransactional", layout.TRANSACTIONAL, 4, ("not part of a transaction", "part of a transaction")),
    ("isControl", layout.CONTROL, 5, ("records are data", "records are control records, not data")),
    ("hasDeleteHorizon", layout.DELETE_HORIZON, 6, ("no delete horizon", "baseTimestamp is the delete horizon")),
)


def _length(what: str, size: int) -> str:
    return f"bytes after this field; the whole {what} has {size + layout.LOG_OVERHEAD}"


def _leader_epoch(fields: Fields) -> str:
    if fields["partitionLeaderEpoch"] == layout.NO_LEADER_EPOCH:
        return "no leader epoch"
    return "epoch of the leader that appended the batch; outside the CRC"


def _base_timestamp(fields: Fields) -> str:
    text = timestamp_meaning(fields["baseTimestamp"])
    if fields["attributes"] & layout.DELETE_HORIZON:
        return f"{text}: delete horizon, when compaction may drop tombstones and markers of this batch"
    return f"{text}; the records' timestamps count from here"


def _max_timestamp(fields: Fields) -> str:
    text = timestamp_meaning(fields["maxTimestamp"])
    return f"{text}: the time of every record" if fields["attributes"] & layout.LOG_APPEND_TIME else text


def _base_sequence(fields: Fields) -> str:
    if fields["baseSequence"] == layout.NO_SEQUENCE:
        return "no sequence"
    last = last_sequence(fields["baseSequence"], fields["lastOffsetDelta"])
    return f"sequence of the batch's first record; its last has {last}"


_EMPTIED = "emptied by compaction, kept for its producer's last sequence or for its last offset"

BATCH_MEANINGS: Meanings = {
    "baseOffset": lambda _: "offset of the first record when it was appended",
    "batchLength": lambda fields: _length("batch", fields["batchLength"]),
    "partitionLeaderEpoch": _leader_epoch,
    "magic": lambda fields: f"format v{fields['magic']}" if fields["magic"] == 2 else "",
    "lastOffsetDelta": lambda fields: f"last offset {signed64(fields['baseOffset'] + fields['lastOffsetDelta'])}",
    "baseTimestamp": _base_timestamp,
    "maxTimestamp": _max_timestamp,
    "producerId": lambda fields: "no producer id" if fields["producerId"] == layout.NO_PRODUCER_ID else "",
    "producerEpoch": lambda fields: "no epoch" if fields["producerEpoch"] == layout.NO_PRODUCER_EPOCH else "",
    "baseSequence": _base_sequence,
    "recordsCount": lambda fields: "" if fields["recordsCount"] else _EMPTIED,
}

MESSAGE_MEANINGS: Meanings = {
    "offset": lambda fields: (
        "of the last message inside" if fields.get("attributes", 0) & layout.CODEC_MASK else "of the message"
    ),
    "size": lambda fields: _length("entry", fields["size"]),
    "magic": lambda fields: f"format v{fields['magic']}" if fields["magic"] in (0, 1) else "",
    "timestamp": lambda fields: timestamp_meaning(fields["timestamp"]),
}
