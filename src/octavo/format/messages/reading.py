"""Builds readers of structs from a schema and a version: compiled once, then run for each message.

Adjacent fields of fixed size are unpacked together. Unknown tags are kept in the row under `UNKNOWN_TAGS`, so that a
message from a newer Kafka can be written back completely.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

from octavo.errors import CorruptionError
from octavo.format.messages.primitive_readers import (
    NULL,
    LengthReader,
    Reader,
    UnreadableMessageError,
    fixed_array_reader,
    fixed_reader,
    length_reader,
    too_many_elements,
    truncated,
    uvarint,
    variable_reader,
)
from octavo.format.messages.schema import UNKNOWN_TAGS, Array, Encoding, Field, Primitive, Row, Struct
from octavo.format.varint import Bytes
from octavo.kernels.integers import signed32

GroupReader = Callable[[Bytes, int, Row], int]
"""Reads some fields at a position into the row and returns the position after them."""

_Step = tuple[str | None, Callable[..., Any]]
"""A field's name and its reader, or None and the reader of a group."""


def struct_reader(fields: tuple[Field, ...], encoding: Encoding, path: str) -> Reader:
    """A reader of a struct, as a row with all fields of the schema in order; absent ones have their defaults."""
    version = encoding.version
    inline = [part for part in fields if version in part.versions and version not in part.tagged]
    steps = [*_inline_steps(inline, encoding, path)]
    if encoding.flexible:
        steps.append((None, _tag_section_reader(fields, encoding, path)))
    template = {part.name: part.default() for part in fields}
    # Mutable defaults that may stay in a row must not be shared between rows.
    mutable = [
        (part.name, part.default)
        for part in fields
        if part not in inline and isinstance(template[part.name], list | dict)
    ]

    def read(data: Bytes, position: int) -> tuple[Row, int]:
        row = template.copy()
        for changeable, default in mutable:
            row[changeable] = default()
        for name, read_step in steps:
            if name is None:
                position = read_step(data, position, row)
            else:
                row[name], position = read_step(data, position)
        return row, position

    return read


def _inline_steps(inline: list[Field], encoding: Encoding, path: str) -> Iterable[_Step]:
    for fixed, group in groupby(inline, key=_is_fixed):
        if fixed:
            yield None, _fixed_group_reader(list(group), path)
        else:
            for part in group:
                yield part.name, _field_reader(part, encoding, f"{path}.{part.name}")


def _is_fixed(part: Field) -> bool:
    return isinstance(part.type, Primitive) and part.type.layout is not None


def _fixed_group_reader(group: list[Field], path: str) -> GroupReader:
    names = [part.name for part in group]
    layout = struct.Struct(">" + "".join(part.type.layout or "" for part in group if isinstance(part.type, Primitive)))
    unpack, width = layout.unpack_from, layout.size
    label = f"{path}.{names[0]}" + (f" to {names[-1]}" if len(names) > 1 else "")

    def read(data: Bytes, position: int, row: Row) -> int:
        try:
            values = unpack(data, position)
        except struct.error:
            raise truncated(label, position, width, data) from None
        row.update(zip(names, values))  # noqa: B905  # strict costs a third; the layout has a value for each name
        return position + width

    return read


def _field_reader(part: Field, encoding: Encoding, path: str) -> Reader:
    nullable = encoding.version in part.nullable
    if isinstance(part.type, Struct):
        read = struct_reader(part.type.fields, encoding, path)
        if not nullable:
            return read
        return _nullable_struct_reader(read, path, compact=encoding.version in part.tagged, lenient=encoding.lenient)
    if isinstance(part.type, Array):
        length_of = length_reader(
            path, flexible=encoding.is_compact(part), short=False, nullable=nullable, lenient=encoding.lenient
        )
        return _array_reader(part.type.element, encoding, path, length_of)
    if part.type.layout is not None:
        return fixed_reader(part.type, path)
    flexible, lenient = encoding.is_compact(part), encoding.lenient
    return variable_reader(part.type, path, flexible=flexible, nullable=nullable, lenient=lenient)


def _nullable_struct_reader(read: Reader, path: str, *, compact: bool, lenient: bool) -> Reader:
    """A reader of a nullable struct and the mark before it: int8 1 or -1 (null), in a tagged field uvarint 1 or 0."""
    absent = 0 if compact else 0xFF

    def read_nullable(data: Bytes, position: int) -> tuple[Any, int]:
        if position >= len(data):
            raise truncated(f"the null mark of {path}", position, 1, data)
        mark, start = data[position], position + 1
        if not lenient and mark not in (1, absent):
            raise CorruptionError(f"{path} has the null mark {mark}, not 1 or {absent}", position=position)
        if lenient and compact:
            mark, start = uvarint(data, position, f"the null mark of {path}")
        is_null = signed32(mark) <= 0 if compact else mark >= 0x80  # Kafka looks only at the sign
        return (None, start) if is_null else read(data, start)

    return read_nullable


def _array_reader(element: Primitive | Struct, encoding: Encoding, path: str, length_of: LengthReader) -> Reader:
    if isinstance(element, Struct):
        read_element = struct_reader(element.fields, encoding, path)
    elif element.layout is not None:
        return fixed_array_reader(element, path, length_of)
    else:
        flexible, lenient = encoding.flexible, encoding.lenient
        read_element = variable_reader(element, path, flexible=flexible, nullable=False, lenient=lenient)

    def read(data: Bytes, position: int) -> tuple[Any, int]:
        count, start = length_of(data, position)
        if count == NULL:
            return None, start
        if count > len(data) - start:  # an element has at least one byte
            raise too_many_elements(path, count, count, start, data)
        values = []
        for _ in range(count):
            value, start = read_element(data, start)
            values.append(value)
        return values, start

    return read


def _tag_section_reader(fields: tuple[Field, ...], encoding: Encoding, path: str) -> GroupReader:
    """A reader of the tagged fields at a struct's end.

    Unless it is lenient, tags must ascend and sizes must be exact: Kafka writes no others.
    """
    version, lenient = encoding.version, encoding.lenient
    readers: dict[int, tuple[str, Reader]] = {
        part.tag: (part.name, _field_reader(part, encoding, f"{path}.{part.name}"))
        for part in fields
        if part.tag is not None and version in part.tagged
    }
    misplaced = {part.tag: part.name for part in fields if part.tag is not None and part.tag not in readers}
    label = f"the tagged fields of {path}"

    def read(data: Bytes, position: int, row: Row) -> int:
        if position < len(data) and data[position] == 0:
            return position + 1
        count, position = uvarint(data, position, label)
        previous = -1
        for _ in range(signed32(count) if lenient else count):
            start = position
            tag, position = uvarint(data, start, label)
            size, position = uvarint(data, position, label)
            end = position + size
            if tag <= previous and not lenient:
                problem = f"{label}: tag {tag} after tag {previous}, expected ascending tags"
                raise CorruptionError(problem, position=start)
            if tag in misplaced:
                problem = f"{label}: tag {tag} ({misplaced[tag]}) is not valid in version {version}"
                said = f"Tag {tag} is not valid for version {version}"
                raise UnreadableMessageError(problem, position=start, kafka_reason=said)
            if end > len(data) and not (lenient and tag in readers):
                left = len(data) - position
                said = f"Error reading byte array of {size} byte(s): only {left} byte(s) available"
                raise truncated(f"tag {tag} of {path}", position, size, data, said)
            if tag in readers:
                name, read_value = readers[tag]
                row[name], stop = read_value(data, position)
                if lenient:
                    end = stop
                if stop != end:
                    problem = f"{label}: {name} takes {stop - position} bytes, its size says {size}"
                    raise CorruptionError(problem, position=position)
            else:
                row.setdefault(UNKNOWN_TAGS, {})[tag] = bytes(data[position:end])
            previous, position = tag, end
        return position

    return read
