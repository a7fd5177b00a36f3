"""The anatomy of a v2 batch; v0 and v1 messages are left to `message`."""

from __future__ import annotations

from dataclasses import replace

from octavo import kernels
from octavo.errors import CorruptionError
from octavo.format.anatomy.meanings import BATCH_MEANINGS, MESSAGE_MEANINGS, attribute_nodes, codec_text, crc_node
from octavo.format.anatomy.message import describe_message
from octavo.format.anatomy.node import Node, field_nodes
from octavo.format.anatomy.record import describe_records
from octavo.format.compression import decompress
from octavo.kernels import layout
from octavo.kernels.integers import signed64
from octavo.system.shown import count


def describe_batch(data: memoryview, position: int, *, limit: int | None = None, most: int | None = None) -> Node:
    """The anatomy of one whole log entry: a batch, or a v0/v1 message. Damaged parts are shown with their problem.

    `limit` is the largest size that the entry may decompress to, `most` the number of records shown in detail.
    """
    magic = int.from_bytes(data[layout.MAGIC_POSITION : layout.HEADER_UP_TO_MAGIC], signed=True)
    if magic < 2:
        return describe_message(data, position, limit=limit, most=most)
    header = [_with_details(node, data) for node in field_nodes(layout.BATCH_FIELDS, data, position, BATCH_MEANINGS)]
    fields = {node.name: node.value for node in header if isinstance(node.value, int)}
    if len(fields) < len(layout.BATCH_FIELDS):
        problem = f"{count(len(data), 'byte')}, expected at least the {layout.BATCH_OVERHEAD} of a header"
        return Node("batch", position, bytes(data), None, "", problem, tuple(header))
    records = _records_node(data, position, fields, limit, most)
    offsets = f"offsets {fields['baseOffset']} to {signed64(fields['baseOffset'] + fields['lastOffsetDelta'])}"
    return Node("batch", position, bytes(data), None, f"v2, {offsets}", "", (*header, records))


def describe_incomplete(data: memoryview, position: int) -> Node:
    """An incomplete entry: its complete header fields, then the remaining bytes as one node."""
    is_message = len(data) > layout.MAGIC_POSITION and data[layout.MAGIC_POSITION] < 2
    fields = layout.MESSAGE_V0_FIELDS if is_message else layout.BATCH_FIELDS
    nodes = field_nodes(fields, data, position, MESSAGE_MEANINGS if is_message else BATCH_MEANINGS)
    seen = sum(node.length for node in nodes)
    rest = [Node("rest", position + seen, bytes(data[seen:]))] if seen < len(data) else []
    return Node("incomplete batch", position, bytes(data), children=(*nodes, *rest))


def _with_details(node: Node, data: memoryview) -> Node:
    """Add details to three fields: an unknown magic, the flags, and whether the CRC is right."""
    if node.name == "magic" and node.value != 2:
        return replace(node, problem="expected 0, 1 or 2; read as v2 here, as Kafka's file reader does")
    if node.name == "attributes":
        return replace(node, meaning="flags", children=attribute_nodes(node, 2))
    if node.name == "crc":
        covered = data[layout.ATTRIBUTES_POSITION :]
        return crc_node(node, "CRC-32C", kernels.crc32c(covered), len(covered))
    return node


def _records_node(data: memoryview, position: int, fields: dict[str, int], limit: int | None, most: int | None) -> Node:
    packed = data[layout.BATCH_OVERHEAD :]
    start, codec_id = position + layout.BATCH_OVERHEAD, fields["attributes"] & layout.CODEC_MASK
    if not codec_id:
        children, problem = describe_records(packed, start, fields, most)
        return Node("records", start, bytes(packed), None, count(len(packed), "byte"), problem, children)
    codec = codec_text(codec_id)
    if fields["recordsCount"] == 0:
        return Node("records", start, bytes(packed), None, "not read: the header counts no records")
    try:
        unpacked = memoryview(bytes(decompress(codec_id, packed, magic=2, limit=limit)))
    except CorruptionError as error:
        return Node("records", start, bytes(packed), None, codec, f"cannot be unpacked: {error}")
    children, problem = describe_records(unpacked, 0, fields, most)
    meaning = f"{codec}, unpacks to {count(len(unpacked), 'byte')}; positions below are within those"
    return Node("records", start, bytes(packed), None, meaning, problem, children)
