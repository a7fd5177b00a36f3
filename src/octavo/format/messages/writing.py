"""Builds writers of structs from a schema and a version: compiled once, then run for each message.

A writer appends chunks to a list, so that large values are copied once, when the message is joined. A field missing
from the row gets its default. A value that the version cannot hold is refused, unless the schema calls it ignorable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from octavo.errors import EncodingError
from octavo.format.messages.defaults import default_test
from octavo.format.messages.primitive_writers import (
    Chunks,
    LengthWriter,
    Writer,
    array_length,
    is_number,
    length_writer,
    number_array_writer,
    numbers_packer,
    primitive_writer,
    shown,
    type_name,
)
from octavo.format.messages.schema import STRING, UNKNOWN_TAGS, Array, Encoding, Field, Primitive, Struct
from octavo.format.varint import encode_uvarint

_Step = tuple[str | None, Any, Writer]
"""A field's name, default and writer; or None, None and a writer that takes the whole row."""

_PRESENT, _ABSENT, _COMPACT_ABSENT = b"\x01", b"\xff", b"\x00"


def struct_writer(fields: tuple[Field, ...], encoding: Encoding, path: str) -> Writer:
    """A writer of a struct: its fields in the schema's order, then, in the flexible encoding, the tagged ones."""
    version = encoding.version
    inline = [part for part in fields if version in part.versions and version not in part.tagged]
    absent = [part for part in fields if version not in part.versions and not part.ignorable]
    refusals = ((part.name, part.default(), _refusal(part, version, f"{path}.{part.name}")) for part in absent)
    steps = [*_inline_steps(inline, encoding, path), *refusals]
    known = {part.name for part in fields} | {UNKNOWN_TAGS}
    write_tags = _tag_section_writer(fields, encoding, path)

    def write(row: Any, out: Chunks) -> None:
        if not isinstance(row, Mapping):
            raise EncodingError(f"{path} is {type_name(row)}, not a mapping of fields")
        if not known.issuperset(row):
            raise EncodingError(f"{path} has no field {', '.join(sorted(map(str, set(row) - known)))}")
        for name, default, write_value in steps:
            write_value(row if name is None else row.get(name, default), out)
        write_tags(row, out)

    return write


def _inline_steps(inline: list[Field], encoding: Encoding, path: str) -> Iterable[_Step]:
    for numbers, group in groupby(inline, key=lambda part: isinstance(part.type, Primitive) and is_number(part.type)):
        if numbers:
            yield None, None, _number_group_writer(list(group), path)
        else:
            for part in group:
                yield part.name, part.default(), _field_writer(part, encoding, f"{path}.{part.name}")


def _number_group_writer(group: list[Field], path: str) -> Writer:
    kinds = [part.type for part in group if isinstance(part.type, Primitive)]
    pack = numbers_packer(kinds, [f"{path}.{part.name}" for part in group])
    defaults = [(part.name, part.default()) for part in group]

    def write(row: Any, out: Chunks) -> None:
        out.append(pack([row.get(name, default) for name, default in defaults]))

    return write


def _refusal(part: Field, version: int, path: str) -> Writer:
    is_default = default_test(part)

    def refuse(value: Any, out: Chunks) -> None:
        if not is_default(value):
            raise EncodingError(f"{path} is set, but version {version} has no such field")

    return refuse


def _field_writer(part: Field, encoding: Encoding, path: str) -> Writer:
    nullable = encoding.version in part.nullable
    compact = encoding.is_compact(part)
    if isinstance(part.type, Struct):
        write = struct_writer(part.type.fields, encoding, path)
        if not nullable:
            return write
        absent = _COMPACT_ABSENT if encoding.version in part.tagged else _ABSENT
        return _nullable(write, present=_PRESENT, absent=absent)
    length_of = length_writer(compact=compact, short=part.type is STRING)
    if isinstance(part.type, Array):
        write = _array_writer(part.type.element, encoding, path, length_of)
    else:
        write = primitive_writer(part.type, path, compact=compact)
    return _nullable(write, present=b"", absent=length_of(-1)) if nullable else write


def _nullable(write: Writer, *, present: bytes, absent: bytes) -> Writer:
    def write_nullable(value: Any, out: Chunks) -> None:
        if value is None:
            out.append(absent)
        else:
            out.append(present)
            write(value, out)

    return write_nullable


def _array_writer(element: Primitive | Struct, encoding: Encoding, path: str, length_of: LengthWriter) -> Writer:
    if isinstance(element, Struct):
        write_element = struct_writer(element.fields, encoding, path)
    elif is_number(element):
        return number_array_writer(element, path, length_of)
    else:
        write_element = primitive_writer(element, path, compact=encoding.flexible)

    def write(value: Any, out: Chunks) -> None:
        out.append(length_of(array_length(value, path)))
        for item in value:
            write_element(item, out)

    return write


def _tag_section_writer(fields: tuple[Field, ...], encoding: Encoding, path: str) -> Writer:
    """A writer of the tagged fields that differ from their defaults and of the unknown tags, by ascending tag."""
    version = encoding.version
    tagged = [
        (part.tag, part.name, default_test(part), _field_writer(part, encoding, f"{path}.{part.name}"))
        for part in fields
        if part.tag is not None and version in part.tagged
    ]
    taken = {part.tag for part in fields if part.tag is not None}

    def write(row: Any, out: Chunks) -> None:
        unknown = row.get(UNKNOWN_TAGS, {})
        if not isinstance(unknown, Mapping):
            raise EncodingError(f"{path} has {type_name(unknown)} for unknown tags, not a mapping of tags to bytes")
        if not encoding.flexible:
            if unknown:
                raise EncodingError(f"{path} carries unknown tags, but version {version} has no tagged fields")
            return
        sections: dict[int, bytes] = {}
        for tag, name, is_default, write_value in tagged:
            if name in row and not is_default(row[name]):
                chunks: Chunks = []
                write_value(row[name], chunks)
                sections[tag] = b"".join(chunks)
        for tag, data in unknown.items():
            if not isinstance(tag, int) or tag in taken or not isinstance(data, bytes):
                found = f"{path} has the unknown tag {shown(tag)} of {type_name(data)}"
                raise EncodingError(f"{found}, expected an unused number with bytes")
            sections[tag] = data
        out.append(encode_uvarint(len(sections)))
        for tag in sorted(sections):
            out += (encode_uvarint(tag), encode_uvarint(len(sections[tag])), sections[tag])

    return write
