"""Parses schemas written as text, one line per field: name, type, versions (`0+` by default), options.

    members           []MemberMetadata
        memberId          string
        groupInstanceId   string    3+   nullable default=null ignorable
        rebalanceTimeout  int32     1+   default=-1 ignorable

Indented lines are the fields of the struct above them; a struct named again without fields is the same one. Options:
`nullable` and `tag=n` (in all versions of the field), `nullable=3+`, `tagged=3+`, `flexible=none`, `default=…`,
`ignorable`. `schema` says what they mean.
"""

from __future__ import annotations

from textwrap import dedent
from typing import Any

from octavo.format.messages.schema import (
    BOOL,
    FLOAT64,
    NATURAL,
    NO_VERSIONS,
    PRIMITIVES,
    STRING,
    Array,
    Field,
    MessageSchema,
    Primitive,
    Struct,
    Type,
    Versions,
)

Lines = list[tuple[int, list[str]]]


def message(name: str, versions: str, flexible: str, fields: str = "") -> MessageSchema:
    """Declare a message: its valid versions, which of them use the flexible encoding, and its fields."""
    return MessageSchema(name, Versions.parse(versions), Versions.parse(flexible), parse_fields(fields))


def parse_fields(text: str) -> tuple[Field, ...]:
    """Parse the fields that the text declares."""
    lines = [(len(line) - len(line.lstrip()), line.split()) for line in dedent(text).splitlines() if line.strip()]
    return _fields(lines, {})


def _fields(lines: Lines, structs: dict[str, Struct]) -> tuple[Field, ...]:
    fields = []
    while lines:
        indent, words = lines[0]
        inner = 1
        while inner < len(lines) and lines[inner][0] > indent:
            inner += 1
        fields.append(_field(words, lines[1:inner], structs))
        lines = lines[inner:]
    return tuple(fields)


def _field(words: list[str], inner: Lines, structs: dict[str, Struct]) -> Field:
    name, type_name, *rest = words
    versions = Versions.parse(rest.pop(0) if rest and rest[0][0].isdigit() else "0+")
    options = {option: value for option, _, value in (word.partition("=") for word in rest)}
    kind = _type(type_name, inner, structs)
    tag = options.pop("tag", None)
    attributes: dict[str, Any] = {
        "nullable": _versions(options, "nullable", versions),
        "tagged": NO_VERSIONS if tag is None else _versions({"tagged": "", **options}, "tagged", versions),
        "flexible": _versions(options, "flexible", versions) if "flexible" in options else None,
        "ignorable": "ignorable" in options,
        "declared_default": _default(kind, options["default"]) if "default" in options else NATURAL,
    }
    if unknown := options.keys() - attributes.keys() - {"default"}:
        raise ValueError(f"{name}: unknown option {', '.join(sorted(unknown))}")
    return Field(name, kind, versions, tag=None if tag is None else int(tag), **attributes)


def _versions(options: dict[str, str], option: str, versions: Versions) -> Versions:
    if option not in options:
        return NO_VERSIONS
    return Versions.parse(options[option]) if options[option] else versions


def _type(name: str, inner: Lines, structs: dict[str, Struct]) -> Type:
    element_name = name.removeprefix("[]")
    element: Primitive | Struct
    if element_name in PRIMITIVES:
        element = PRIMITIVES[element_name]
    else:
        if inner:
            structs[element_name] = Struct(element_name, _fields(inner, structs))
        element = structs[element_name]
    return Array(element) if name.startswith("[]") else element


def _default(kind: Type, text: str) -> bool | int | float | str | None:
    if text == "null":
        return None
    if kind is STRING:
        return text
    if kind is BOOL:
        return {"true": True, "false": False}[text]
    return float(text) if kind is FLOAT64 else int(text)
