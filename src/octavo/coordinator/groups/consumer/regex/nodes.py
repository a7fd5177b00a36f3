"""What an expression consists of, after parsing."""

from __future__ import annotations

import string
from typing import NamedTuple

from octavo.format.names import MAX_TOPIC_LENGTH

NAME_CHARACTERS = frozenset(string.ascii_letters + string.digits + "._-")


class BadExpressionError(ValueError):
    """An expression that RE2 would refuse, with RE2's description of the problem."""


class Chars(NamedTuple):
    """One character out of a set."""

    chars: frozenset[str]


class Sequence(NamedTuple):
    """One node after the other."""

    nodes: tuple[Node, ...]


class Choice(NamedTuple):
    """Any one of several nodes."""

    nodes: tuple[Node, ...]


class Repeat(NamedTuple):
    """A node several times; without a `most`, any number of times."""

    node: Node
    least: int
    most: int | None


class Boundary(NamedTuple):
    """A place between characters: `^`, `$`, `b` (a word begins or ends) or `B` (none does)."""

    kind: str


Node = Chars | Sequence | Choice | Repeat | Boundary

NOTHING = Chars(frozenset())


def repeat(node: Node, least: int, most: int | None) -> Node:
    """A repetition, simplified by what is known of names: none is longer than 249 characters."""
    if least * shortest(node) > MAX_TOPIC_LENGTH:
        return NOTHING
    if most is not None and most > MAX_TOPIC_LENGTH:
        most = None
    return Repeat(node, min(least, MAX_TOPIC_LENGTH), most)


def shortest(node: Node) -> int:
    """The length of the shortest name that can match."""
    match node:
        case Chars():
            return 1
        case Sequence(nodes):
            return sum(map(shortest, nodes))
        case Choice(nodes):
            return min(map(shortest, nodes))
        case Repeat(repeated, least, _):
            return least * shortest(repeated)
        case Boundary():
            return 0
