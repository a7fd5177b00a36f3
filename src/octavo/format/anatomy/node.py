"""A range of bytes and its meaning."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

NodeValue = int | str | bytes | None

Meanings = Mapping[str, Callable[[Mapping[str, int]], str]]
"""Maps a field's name to a function that explains it, given the values of all fields."""


@dataclass(frozen=True, slots=True)
class Node:
    """A range of bytes. `position` counts from the start of the file, or of the decompressed stream.

    `problem` says what is wrong with it; `offset` is that of the record, message or entry, if it has one.
    """

    name: str
    position: int
    raw: bytes = field(repr=False)
    value: NodeValue = None
    meaning: str = ""
    problem: str = ""
    children: tuple[Node, ...] = ()
    offset: int | None = None

    @property
    def length(self) -> int:
        return len(self.raw)

    def problems(self) -> Iterator[Node]:
        """The nodes with a problem, outer ones first."""
        if self.problem:
            yield self
        for child in self.children:
            yield from child.problems()


def field_nodes(fields: Mapping[str, str], data: memoryview, position: int, meanings: Meanings) -> list[Node]:
    """A node for each field that the data contains completely."""
    nodes: list[Node] = []
    values: dict[str, int] = {}
    at = 0
    for name, form in fields.items():
        layout = struct.Struct(f">{form}")
        if at + layout.size > len(data):
            break
        (values[name],) = layout.unpack_from(data, at)
        nodes.append(Node(name, position + at, bytes(data[at : at + layout.size]), values[name]))
        at += layout.size
    return [replace(node, meaning=meanings[node.name](values)) if node.name in meanings else node for node in nodes]
