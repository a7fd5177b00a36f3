"""The anatomy of v0 and v1 messages, and of the message set that a compressed one wraps."""

from __future__ import annotations

import zlib
from dataclasses import replace
from itertools import islice

from octavo.errors import CorruptionError
from octavo.format.anatomy.meanings import MESSAGE_MEANINGS, attribute_nodes, codec_text, crc_node
from octavo.format.anatomy.node import Node, field_nodes
from octavo.format.anatomy.record import left_out
from octavo.format.legacy.message import Message, inner_entries, read_messages, unpack
from octavo.kernels import layout
from octavo.system.shown import count


def describe_message(data: memoryview, position: int, *, limit: int | None = None, most: int | None = None) -> Node:
    """A log entry with a message; the messages inside a wrapper are the children of its value."""
    message = Message(data)
    node = _message_node(message, position, "message")
    if not message.codec_id or node.problem:
        return node
    *fields, value = node.children
    codec = codec_text(message.codec_id) or "unknown codec"
    if value.name != "value":
        return replace(node, meaning=f"{node.meaning}, {codec} wrapper", problem="a null value, expected a message set")
    children = (*fields, _unpacked(message, value, limit, most))
    return replace(node, meaning=f"{node.meaning}, {codec} wrapper", children=children)


def _message_node(message: Message, position: int, name: str) -> Node:
    data = message.entry
    header = layout.MESSAGE_V0_FIELDS if message.magic == 0 else layout.MESSAGE_V1_FIELDS
    nodes = [_with_details(node, message) for node in field_nodes(header, data, position, MESSAGE_MEANINGS)]
    problem = ""
    try:
        for field in ("key", "value"):
            nodes += _sized(message, field, position)
    except CorruptionError as error:
        problem = error.problem
    return Node(name, position, bytes(data), None, f"v{message.magic}", problem, tuple(nodes))


def _with_details(node: Node, message: Message) -> Node:
    if node.name == "attributes":
        return replace(node, meaning="flags", children=attribute_nodes(node, message.magic))
    if node.name == "magic" and message.magic not in (0, 1):
        return replace(node, problem="expected 0, 1 or 2; read as v1 here")
    if node.name == "crc":
        covered = message.entry[layout.MESSAGE_MAGIC_POSITION :]
        return crc_node(node, "CRC-32", zlib.crc32(covered), len(covered))
    return node


def _sized(message: Message, name: str, position: int) -> list[Node]:
    """The length of a key or value, and its bytes."""
    at = message.key_position if name == "key" else message.value_position
    size = message.key_size if name == "key" else message.value_size
    meaning = "null" if size < 0 else ""
    length = Node(f"{name}Length", position + at, bytes(message.entry[at : at + 4]), size, meaning)
    content = message.key if name == "key" else message.value
    return [length] if content is None else [length, Node(name, position + at + 4, content, content)]


def _unpacked(wrapper: Message, value: Node, limit: int | None, most: int | None) -> Node:
    """The value of a wrapper and the messages it holds; their positions are relative to the decompressed stream."""
    try:
        content = memoryview(bytes(unpack(wrapper, limit=limit)))
    except CorruptionError as error:
        return replace(value, problem=f"cannot be unpacked: {error.problem}")
    unpacked = count(len(content), "byte")
    meaning = f"{codec_text(wrapper.codec_id)}, unpacks to {unpacked}; positions below are within those"
    children: list[Node] = []
    at = 0
    problem = ""
    try:
        for entry in islice(inner_entries(content), most):
            children.append(_message_node(Message(entry), at, f"message {len(children)}"))
            at += len(entry)
        rest = []
        if len(children) == most and at < len(content):
            more = count(len(content) - at, "byte")
            rest = [left_out(bytes(content[at:]), at, f"{more} of more messages, which are")]
        elif at < len(content):
            problem = f"{count(len(content) - at, 'byte')} of an incomplete message at the end"
        offsets = [message.offset for message in islice(read_messages(wrapper.entry, limit=limit), most)]
        children = [_with_offset(child, offset) for child, offset in zip(children, offsets, strict=True)] + rest
    except CorruptionError as error:
        problem = error.problem
    return replace(value, meaning=meaning, problem=problem, children=tuple(children))


def _with_offset(inner: Node, offset: int) -> Node:
    """An inner message with its absolute offset; the stored offset of a v1 message is relative to the first one."""
    stored, *rest = inner.children
    meaning = "of the message" if stored.value == offset else "relative to the first message"
    children = (replace(stored, meaning=meaning), *rest)
    return replace(inner, meaning=f"{inner.meaning}, offset {offset}", children=children, offset=offset)
