"""A message's schema in one version as the plan that the kernels' coders follow.

The plan covers what nearly every message is made of. Tagged fields are not in it: they are rare, and left to the plain
coders.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from octavo.format.messages.schema import BYTES, RECORDS, STRING, UUID, Array, Encoding, Field, Primitive, Struct
from octavo.kernels.reference.messages import StepPlan, StructPlan

_VARIABLE = {STRING: "s", BYTES: "y", RECORDS: "r"}


def struct_plan(fields: tuple[Field, ...], encoding: Encoding) -> StructPlan:
    version = encoding.version
    inline = [part for part in fields if version in part.versions and version not in part.tagged]
    others = [part for part in fields if part not in inline]
    return StructPlan(
        {part.name: part.default() for part in fields},
        tuple(_field_plan(part, encoding) for part in inline),
        tuple((part.name, _fresh(part)) for part in others if isinstance(part.default(), list | dict)),
        tuple((part.name, part.ignorable and version not in part.versions, part.default()) for part in others),
        encoding.flexible,
    )


def _fresh(part: Field) -> Callable[[], list[Any] | dict[str, Any]]:
    """A function that returns a new copy of a field's default each time, since rows may change theirs."""
    default = part.default()
    is_flat = not any(isinstance(value, list | dict) for value in (default.values() if default else ()))
    return default.copy if is_flat else part.default


def _field_plan(part: Field, encoding: Encoding) -> StepPlan:
    nullable, compact = encoding.version in part.nullable, encoding.is_compact(part)
    if isinstance(part.type, Array):
        element = _plan(None, part.type.element, encoding, compact=encoding.flexible, nullable=False)
        return StepPlan(part.name, "A", compact, nullable, element)
    return _plan(part.name, part.type, encoding, compact=compact, nullable=nullable)


def _plan(name: str | None, kind: Primitive | Struct, encoding: Encoding, *, compact: bool, nullable: bool) -> StepPlan:
    if isinstance(kind, Struct):
        return StepPlan(name, "S", compact, nullable, struct_plan(kind.fields, encoding))
    if kind is UUID:
        return StepPlan(name, "u", compact, nullable)
    return StepPlan(name, kind.layout or _VARIABLE[kind], compact, nullable)
