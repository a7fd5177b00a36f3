"""Matches topic names against an expression, with a finite automaton."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from octavo.coordinator.groups.consumer.regex.nodes import (
    BadExpressionError,
    Boundary,
    Chars,
    Choice,
    Node,
    Repeat,
    Sequence,
)
from octavo.coordinator.groups.consumer.regex.parser import parse

_MOST_STATES = 10_000
_END = -1


class _Take(NamedTuple):
    """Go on if the next character is one of these."""

    chars: frozenset[str]
    then: int


class _Fork(NamedTuple):
    """Go on in several states at once."""

    then: tuple[int, ...]


class _Check(NamedTuple):
    """Go on if this is such a place."""

    kind: str
    then: int


_State = _Take | _Fork | _Check


class Pattern:
    """A compiled expression."""

    def __init__(self, expression: str) -> None:
        self._states: list[_State] = []
        self._start = self._compile(parse(expression), _END)

    def matches(self, name: str) -> bool:
        """Whether the whole name matches."""
        reached = {self._start}
        for position, char in enumerate(name):
            taking = self._follow(reached, name, position)
            reached = {state.then for state in taking if isinstance(state, _Take) and char in state.chars}
            if not reached:
                return False
        return None in self._follow(reached, name, len(name))

    def _follow(self, reached: set[int], name: str, position: int) -> set[_State | None]:
        """The states reached without taking a character; None stands for the end."""
        found: set[_State | None] = set()
        known, left = set(reached), list(reached)
        while left:
            number = left.pop()
            state = None if number == _END else self._states[number]
            then: tuple[int, ...] = ()
            if isinstance(state, _Fork):
                then = state.then
            elif isinstance(state, _Check):
                then = (state.then,) if _holds(state.kind, name, position) else ()
            else:
                found.add(state)
            left += [each for each in then if each not in known]
            known.update(then)
        return found

    def _add(self, state: _State) -> int:
        if len(self._states) >= _MOST_STATES:
            raise BadExpressionError("invalid repeat count")
        self._states.append(state)
        return len(self._states) - 1

    def _compile(self, node: Node, then: int) -> int:
        """Add a node's states; returns the first one, given the one after the node."""
        match node:
            case Chars(chars):
                return self._add(_Take(chars, then))
            case Boundary(kind):
                return self._add(_Check(kind, then))
            case Sequence(nodes):
                for each in reversed(nodes):
                    then = self._compile(each, then)
                return then
            case Choice(nodes):
                return self._add(_Fork(tuple(self._compile(each, then) for each in nodes)))
            case Repeat(repeated, least, most):
                if most is None:
                    loop = self._add(_Fork(()))
                    self._states[loop] = _Fork((self._compile(repeated, loop), then))
                    then = loop
                for _ in range((most or least) - least):
                    then = self._add(_Fork((self._compile(repeated, then), then)))
                for _ in range(least):
                    then = self._compile(repeated, then)
                return then


def _holds(kind: str, name: str, position: int) -> bool:
    if kind == "^":
        return position == 0
    if kind == "$":
        return position == len(name)
    before = position > 0 and _is_word(name[position - 1])
    after = position < len(name) and _is_word(name[position])
    return (before is not after) is (kind == "b")


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


@lru_cache(maxsize=256)
def compiled(expression: str) -> Pattern:
    """The pattern of an expression; raises BadExpressionError if RE2 would refuse it."""
    return Pattern(expression)
