"""The anatomy of Kafka's small text files: one node per line, with its meaning and the fields of an entry."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from octavo.errors import CorruptionError
from octavo.format.anatomy.node import Node
from octavo.format.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSET_CHECKPOINT,
    LEADER_EPOCH_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    META_PROPERTIES,
    PARTITION_METADATA,
    QUORUM_STATE,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
)
from octavo.format.small_files import (
    checkpoint,
    clean_shutdown,
    leader_epochs,
    meta_properties,
    partition_metadata,
    quorum_state,
)

_FIELD = re.compile(rb"[^ \t\x0b\f\r\n]+")
_PROPERTY = re.compile(rb"([^=: ]+) ?[=:] ?(.*)")
_NUMBER = re.compile(rb"[0-9]{1,19}")


class _Form(NamedTuple):
    """How a file is decoded as a whole, and the meaning of each line."""

    decode: Callable[[bytes], object]
    line: Callable[[int, Node], Node]


def describe_text(name: str, data: bytes) -> Iterator[Node]:
    """The lines of a file with this name, one of `TEXT_FILES`; a problem is attached to the line where it was found."""
    form = TEXT_FILES[name]
    lines = data.splitlines(keepends=True)
    positions = [0, *accumulate(map(len, lines))]
    problem, wrong = _problem(form, data, positions[: max(len(lines), 1)])
    if not lines:
        yield Node("empty", 0, b"", None, "an empty file", problem)
    for number, raw in enumerate(lines):
        node = form.line(number, Node(f"line {number}", positions[number], raw, raw.rstrip(b"\r\n")))
        yield replace(node, problem=problem) if number == wrong else node


def _problem(form: _Form, data: bytes, positions: list[int]) -> tuple[str, int]:
    try:
        form.decode(data)
    except CorruptionError as error:
        at = error.position or 0
        return error.problem, max(number for number, position in enumerate(positions) if position <= at)
    return "", -1


def _checkpoint(names: tuple[str, ...], meaning: str, *, by_offset: bool = False) -> Callable[[int, Node], Node]:
    """The lines of a checkpoint: its version, the number of entries, and the entries, with these names for their
    fields."""

    def describe(number: int, node: Node) -> Node:
        if number < 2:
            name, says = (("version", "version of the format"), ("count", "how many entries follow"))[number]
            return replace(node, name=name, meaning=says)
        node = replace(node, name=f"entry {number - 2}")
        found = list(_FIELD.finditer(node.raw))
        if len(found) != len(names):
            return node
        values = [int(field[0]) if _NUMBER.fullmatch(field[0]) else field[0] for field in found]
        children = tuple(
            Node(name, node.position + field.start(), field[0], value)
            for name, field, value in zip(names, found, values, strict=True)
        )
        texts = {child.name: child.raw.decode("utf-8", "backslashreplace") for child in children}
        offset = values[-1] if by_offset and isinstance(values[-1], int) else None
        return replace(node, meaning=meaning.format(**texts), children=children, offset=offset)

    return describe


def _properties(meanings: Mapping[str, str]) -> Callable[[int, Node], Node]:
    """Lines with a name and a value."""

    def describe(_: int, node: Node) -> Node:
        found = _PROPERTY.match(node.raw.rstrip(b"\r\n"))
        if node.raw.startswith((b"#", b"!")) or found is None:
            return replace(node, name="comment" if node.raw[:1] in (b"#", b"!") else node.name)
        name = found[1].decode("utf-8", "backslashreplace")
        return replace(node, name=name, value=found[2], meaning=meanings.get(name, ""))

    return describe


def _whole(name: str, meaning: str) -> Callable[[int, Node], Node]:
    """One line of JSON."""
    return lambda _, node: replace(node, name=name, meaning=meaning)


_FIELDS = "topic", "partition", "offset"
TEXT_FILES: dict[str, _Form] = {
    LEADER_EPOCH_CHECKPOINT: _Form(
        leader_epochs.decode,
        _checkpoint(("epoch", "startOffset"), "epoch {epoch} begins with offset {startOffset}", by_offset=True),
    ),
    **{
        name: _Form(checkpoint.decode_offsets, _checkpoint(_FIELDS, f"{{topic}}-{{partition}}: {meaning} {{offset}}"))
        for name, meaning in {
            RECOVERY_POINT_CHECKPOINT: "flushed up to offset",
            LOG_START_OFFSET_CHECKPOINT: "the log starts at offset",
            REPLICATION_OFFSET_CHECKPOINT: "the high watermark is offset",
            CLEANER_OFFSET_CHECKPOINT: "compacted up to offset",
        }.items()
    },
    META_PROPERTIES: _Form(
        meta_properties.decode,
        _properties({
            "version": "version of the format; 0: with ZooKeeper, 1: KRaft",
            "cluster.id": "the cluster to which the directory belongs",
            "broker.id": "the broker to which the directory belongs",
            "node.id": "the node to which the directory belongs",
            "directory.id": "the directory's own id",
        }),
    ),
    PARTITION_METADATA: _Form(
        partition_metadata.decode, _properties({"version": "version of the format", "topic_id": "the id of the topic"})
    ),
    QUORUM_STATE: _Form(quorum_state.decode, _whole("state", "the last election that the node knows of")),
    CLEAN_SHUTDOWN: _Form(clean_shutdown.decode, _whole("mark", "all logs were closed before the broker ended")),
}  # fmt: skip
