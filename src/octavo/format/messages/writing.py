"""From a schema and a version to a writer of structs: compiled once, then run for each message.

A writer appends chunks to a list, so that large values are copied once, when the message is joined. A field that the
row leaves out takes its default. What the version cannot hold is refused, unless the schema calls it ignorable.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from octavo.errors import EncodingError
from octavo.format.messages.defaults import default_test
from octavo.format.messages.primitives import MAX_STRING_BYTES
from octavo.format.messages.schema import BOOL, STRING, UNKNOWN_TAGS, UUID, Array, Encoding, Field, Primitive, Struct
from octavo.format.varint import Bytes, encode_uvarint

Chunks = list[Bytes]
Writer = Callable[[Any, Chunks], None]
LengthWriter = Callable[[int], bytes]

_MAX_LENGTH = 0x7FFF_FFFF
_PRESENT, _ABSENT, _COMPACT_ABSENT = b"\x01", b"\xff", b"\x00"


def struct_writer(fields: tuple[Field, ...], encoding: Encoding, path: str) -> Writer:
    """Of a struct: its fields in the schema's order, then, in the flexible encoding, the tagged ones."""
    version = encoding.version
    steps = [
        (part.name, part.default(), _inline_writer(part, encoding, f"{path}.{part.name}"))
        for part in fields
        if version not in part.tagged and (version in part.versions or not part.ignorable)
    ]
    known = {part.name for part in fields} | {UNKNOWN_TAGS}
    write_tags = _tag_section_writer(fields, encoding, path)

    def write(row: Any, out: Chunks) -> None:
        if not isinstance(row, Mapping):
            raise EncodingError(f"{path} is {_kind(row)}, not a mapping of fields")
        if not known.issuperset(row):
            raise EncodingError(f"{path} has no field {', '.join(sorted(map(str, set(row) - known)))}")
        for name, default, write_value in steps:
            write_value(row.get(name, default), out)
        write_tags(row, out)

    return write


def _inline_writer(part: Field, encoding: Encoding, path: str) -> Writer:
    if encoding.version in part.versions:
        return _field_writer(part, encoding, path)
    is_default = default_test(part)

    def refuse(value: Any, out: Chunks) -> None:
        if not is_default(value):
            raise EncodingError(f"{path} is set, but version {encoding.version} has no such field")

    return refuse


def _field_writer(part: Field, encoding: Encoding, path: str) -> Writer:
    nullable = encoding.version in part.nullable
    compact = encoding.is_compact(part)
    if isinstance(part.type, Struct):
        write = struct_writer(part.type.fields, encoding, path)
        if not nullable:
            return write
        absent = _COMPACT_ABSENT if encoding.version in part.tagged else _ABSENT
        return _nullable(_after(_PRESENT, write), absent)
    if isinstance(part.type, Array):
        write = _array_writer(part.type.element, encoding, path, length_writer(compact, ">i"))
    else:
        write = _primitive_writer(part.type, path, compact)
    if not nullable:
        return write
    return _nullable(write, length_writer(compact, ">h" if part.type is STRING else ">i")(-1))


def length_writer(compact: bool, layout: str) -> LengthWriter:
    """Of a length or count, -1 for null: a uvarint one higher where it is compact, else of fixed size."""
    return (lambda length: encode_uvarint(length + 1)) if compact else struct.Struct(layout).pack


def _nullable(write: Writer, null: bytes) -> Writer:
    def write_nullable(value: Any, out: Chunks) -> None:
        if value is None:
            out.append(null)
        else:
            write(value, out)

    return write_nullable


def _after(mark: bytes, write: Writer) -> Writer:
    def write_after(value: Any, out: Chunks) -> None:
        out.append(mark)
        write(value, out)

    return write_after


def _primitive_writer(kind: Primitive, path: str, compact: bool) -> Writer:
    if kind is STRING:
        return _string_writer(path, length_writer(compact, ">h"))
    if kind.layout is None:
        return _bytes_writer(path, length_writer(compact, ">i"))
    if kind is UUID:
        return _uuid_writer(path)
    return _number_writer(kind, path)


def _number_writer(kind: Primitive, path: str) -> Writer:
    pack = struct.Struct(f">{kind.layout}").pack

    def write(value: Any, out: Chunks) -> None:
        if kind is BOOL and not isinstance(value, bool):
            raise EncodingError(f"{path} is {_kind(value)}, not a bool")
        try:
            out.append(pack(value))
        except (struct.error, OverflowError, TypeError):
            raise EncodingError(f"{path} is {_shown(value)}, which {kind.name} cannot hold") from None

    return write


def _uuid_writer(path: str) -> Writer:
    def write(value: Any, out: Chunks) -> None:
        if not isinstance(value, bytes) or len(value) != 16:
            raise EncodingError(f"{path} is {_kind(value)}, not a uuid of 16 bytes")
        out.append(value)

    return write


def _string_writer(path: str, length_of: LengthWriter) -> Writer:
    def write(value: Any, out: Chunks) -> None:
        if not isinstance(value, str):
            raise EncodingError(f"{path} is {_kind(value)}, not a string")
        try:
            encoded = value.encode()
        except UnicodeEncodeError as error:
            raise EncodingError(f"{path} cannot be UTF-8: {error.reason}") from None
        if len(encoded) > MAX_STRING_BYTES:
            raise EncodingError(f"{path} has {len(encoded)} bytes, a string at most {MAX_STRING_BYTES}")
        out.append(length_of(len(encoded)))
        out.append(encoded)

    return write


def _bytes_writer(path: str, length_of: LengthWriter) -> Writer:
    def write(value: Any, out: Chunks) -> None:
        if not isinstance(value, Bytes):
            raise EncodingError(f"{path} is {_kind(value)}, not bytes")
        view = memoryview(value)
        if view.nbytes > _MAX_LENGTH:
            raise EncodingError(f"{path} has {view.nbytes} bytes, at most {_MAX_LENGTH} can be told")
        out.append(length_of(view.nbytes))
        out.append(value if view.c_contiguous else view.tobytes())

    return write


def _array_writer(element: Primitive | Struct, encoding: Encoding, path: str, length_of: LengthWriter) -> Writer:
    if isinstance(element, Struct):
        write_element = struct_writer(element.fields, encoding, path)
    else:
        write_element = _primitive_writer(element, path, encoding.flexible)

    def write(value: Any, out: Chunks) -> None:
        if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray | memoryview):
            raise EncodingError(f"{path} is {_kind(value)}, not a list")
        out.append(length_of(len(value)))
        for item in value:
            write_element(item, out)

    return write


def _tag_section_writer(fields: tuple[Field, ...], encoding: Encoding, path: str) -> Writer:
    version = encoding.version
    tagged = [
        (part.tag, part.name, part.default(), default_test(part), _field_writer(part, encoding, f"{path}.{part.name}"))
        for part in fields
        if part.tag is not None and version in part.tagged
    ]
    taken = {part.tag for part in fields if part.tag is not None}

    def write(row: Any, out: Chunks) -> None:
        unknown = row.get(UNKNOWN_TAGS, {})
        if not isinstance(unknown, Mapping):
            raise EncodingError(f"{path} has {_kind(unknown)} for unknown tags, not a mapping of tags to bytes")
        if not encoding.flexible:
            if unknown:
                raise EncodingError(f"{path} carries unknown tags, but version {version} has no tagged fields")
            return
        sections: dict[int, bytes] = {}
        for tag, name, default, is_default, write_value in tagged:
            value = row.get(name, default)
            if not is_default(value):
                chunks: Chunks = []
                write_value(value, chunks)
                sections[tag] = b"".join(chunks)
        for tag, data in unknown.items():
            if not isinstance(tag, int) or tag in taken or not isinstance(data, bytes):
                raise EncodingError(
                    f"{path} has the unknown tag {_shown(tag)} of {_kind(data)}: a free number to bytes"
                )
            sections[tag] = data
        out.append(encode_uvarint(len(sections)))
        for tag in sorted(sections):
            out += (encode_uvarint(tag), encode_uvarint(len(sections[tag])), sections[tag])

    return write


def _shown(value: Any) -> str:
    # Python refuses to print very long numbers.
    return (
        f"a number of {value.bit_length()} bits" if isinstance(value, int) and value.bit_length() > 64 else repr(value)
    )


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__
