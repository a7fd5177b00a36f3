"""The coders of messages in plain Python: `format.messages` has them, so they are returned unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

Coder = TypeVar("Coder", bound=Callable[..., Any])


class StepPlan(NamedTuple):
    """One field of a struct in one version, or the element of an array.

    `kind` is the `struct` format of a number, or ? for a bool, u for a uuid, s for a string, y for bytes, r for
    records, S for a struct, A for an array. `compact` says whether its length is a varint.
    """

    name: str | None  # None for the element of an array
    kind: str
    compact: bool
    nullable: bool
    inner: StructPlan | StepPlan | None = None


class StructPlan(NamedTuple):
    """A struct in one version: the fields that are written one after the other, and the others."""

    template: dict[str, Any]  # the default of every field
    steps: tuple[StepPlan, ...]
    fresh: tuple[tuple[str, Callable[[], Any]], ...]  # mutable defaults of fields without a step
    others: tuple[tuple[str, bool, Any], ...]  # fields without a step: name, whether any value is ignored, default
    is_flexible: bool


def message_reader(plan: StructPlan, plain: Coder) -> Coder:
    """A reader of messages, `reader(data, position) -> (row, next position)`, with the results of the plain one."""
    return plain


def message_writer(plan: StructPlan, plain: Coder) -> Coder:
    """A writer of messages, `writer(row, head) -> parts`, with the results of the plain one.

    The head, if there is one, comes first, and its first four bytes become the size of everything after them.
    """
    return plain
