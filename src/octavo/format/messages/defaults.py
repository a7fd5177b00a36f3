"""Tests whether a value is its field's default: then a tagged field is not written, and the version need not have
the field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from octavo.format.messages.schema import Array, Field, Struct

DefaultTest = Callable[[Any], bool]


def default_test(part: Field) -> DefaultTest:
    """The test for one field; a struct may omit fields that have their defaults."""
    default = part.default()
    if default is None:
        return lambda value: value is None
    if isinstance(part.type, Array):
        return lambda value: value == [] or value == ()
    if isinstance(part.type, Struct):
        return _struct_test(part.type)
    return lambda value: bool(value == default)


def _struct_test(kind: Struct) -> DefaultTest:
    tests = {part.name: default_test(part) for part in kind.fields}

    def is_default(value: Any) -> bool:
        return isinstance(value, Mapping) and all(name in tests and tests[name](part) for name, part in value.items())

    return is_default
