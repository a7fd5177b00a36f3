"""Reads RE2's syntax, with Perl's classes and groups, as Kafka's RE2/J does."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from octavo.coordinator.groups.consumer.regex.classes import PERL, POSIX, characters, folded, unicode_class
from octavo.coordinator.groups.consumer.regex.nodes import (
    NAME_CHARACTERS,
    BadExpressionError,
    Boundary,
    Chars,
    Choice,
    Node,
    Sequence,
    repeat,
)

_MOST_REPEATS = 1000
_DEEPEST = 200
_COUNTS = re.compile(r"\{(\d+)(,(\d*))?\}")
_NAMED_GROUP = re.compile(r"\(\?P?<(\w+)>", re.ASCII)
_FLAGS = re.compile(r"\(\?([imsU]*)(-[imsU]+)?([:)])")
_POSIX = re.compile(r"\[:(\^?)(\w+):\]")
_UNICODE = re.compile(r"\\([pP])(?:\{(\^?)([^}]*)\}|(.))", re.DOTALL)
_HEX = re.compile(r"\\x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))")
_OCTAL = re.compile(r"\\(0[0-7]{0,2}|[1-7][0-7]{1,2})")
_CONTROLS = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_BOUNDARIES = {"A": "^", "z": "$", "b": "b", "B": "B"}


def parse(expression: str) -> Node:
    """The expression's root; raises BadExpressionError."""
    return _Parser(expression).parse()


@dataclass
class _Group:
    """An open group: its finished alternatives, the one being read, and whether case counted before it."""

    ignores_case: bool
    alternatives: list[Node] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)

    def end_alternative(self) -> None:
        self.alternatives.append(self.items[0] if len(self.items) == 1 else Sequence(tuple(self.items)))
        self.items = []

    def node(self) -> Node:
        self.end_alternative()
        return self.alternatives[0] if len(self.alternatives) == 1 else Choice(tuple(self.alternatives))


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._ignores_case = False
        self._names: set[str] = set()
        self._open = [_Group(False)]
        self._is_repeated = False  # the last item

    def parse(self) -> Node:
        while self._at < len(self._text):
            was_at = self._at
            self._item()
            self._is_repeated = self._text[was_at] in "*+?" or (
                self._text[was_at] == "{" and _COUNTS.match(self._text, was_at) is not None
            )
        if len(self._open) > 1:
            raise BadExpressionError("missing closing )")
        return self._open[0].node()

    def _item(self) -> None:
        group = self._open[-1]
        char = self._text[self._at]
        if char == "(":
            self._open_group()
        elif char == "|":
            self._at += 1
            group.end_alternative()
        elif char == ")":
            self._at += 1
            if len(self._open) == 1:
                raise BadExpressionError("regexp/syntax: internal error")
            self._ignores_case = group.ignores_case
            self._open.pop()
            self._open[-1].items.append(group.node())
        elif char in "*+?":
            self._at += 1
            self._repeat(int(char == "+"), 1 if char == "?" else None)
        elif char == "{" and (counts := _COUNTS.match(self._text, self._at)):
            self._at = counts.end()
            least = int(counts[1])
            most = least if counts[2] is None else int(counts[3]) if counts[3] else None
            if max(least, most or 0) > _MOST_REPEATS or (most is not None and most < least):
                raise BadExpressionError("invalid repeat count")
            self._repeat(least, most)
        elif self._text.startswith("\\Q", self._at):
            end = self._text.find("\\E", self._at)
            quoted = self._text[self._at + 2 : len(self._text) if end < 0 else end]
            self._at = len(self._text) if end < 0 else end + 2
            group.items += [self._one(each) for each in quoted]
        else:
            group.items.append(self._atom(char))

    def _repeat(self, least: int, most: int | None) -> None:
        items = self._open[-1].items
        if not items:
            raise BadExpressionError("missing argument to repetition operator")
        if self._is_repeated:
            raise BadExpressionError("invalid nested repetition operator")
        if self._text[self._at : self._at + 1] == "?":  # as few as possible: no difference for a whole name
            self._at += 1
        items[-1] = repeat(items[-1], least, most)

    def _open_group(self) -> None:
        start, was_ignoring = self._at, self._ignores_case
        self._at += 1
        if self._text.startswith("(?", start):
            named, flags = _NAMED_GROUP.match(self._text, start), _FLAGS.match(self._text, start)
            if named:
                if named[1] in self._names:
                    raise BadExpressionError("duplicate capture group name")
                self._names.add(named[1])
                self._at = named.end()
            elif self._text.startswith(("(?P<", "(?<"), start):
                is_assertion = self._text.startswith(("(?<=", "(?<!"), start)
                raise BadExpressionError(
                    "invalid or unsupported Perl syntax" if is_assertion else "invalid named capture"
                )
            elif flags is None:
                raise BadExpressionError("invalid or unsupported Perl syntax")
            else:
                self._at = flags.end()
                self._ignores_case = ("i" in flags[1] or was_ignoring) and "i" not in (flags[2] or "")
                if flags[3] == ")":
                    return
        if len(self._open) > _DEEPEST:
            raise BadExpressionError("expression nests too deeply")
        self._open.append(_Group(was_ignoring))

    def _atom(self, char: str) -> Node:
        if char == "[":
            return Chars(self._set())
        if char == "\\":
            following = self._text[self._at + 1 : self._at + 2]
            if following in _BOUNDARIES and following:
                self._at += 2
                return Boundary(_BOUNDARIES[following])
            found = self._named_class()
            return Chars(found) if found is not None else self._one(self._escaped())
        self._at += 1
        if char in "^$":
            return Boundary(char)
        return Chars(NAME_CHARACTERS) if char == "." else self._one(char)

    def _one(self, char: str) -> Node:
        return Chars(folded(char, char) if self._ignores_case else NAME_CHARACTERS & {char})

    def _named_class(self) -> frozenset[str] | None:
        """A class such as \\d or \\pL; None if none is here."""
        name = self._text[self._at + 1 : self._at + 2]
        if name and name.lower() in PERL:
            self._at += 2
            return PERL[name] if name in PERL else NAME_CHARACTERS - PERL[name.lower()]
        if name not in ("p", "P"):
            return None
        found = _UNICODE.match(self._text, self._at)
        if found is None:
            raise BadExpressionError("invalid character class range")
        self._at = found.end()
        chosen = unicode_class(found[3] if found[4] is None else found[4])
        if self._ignores_case:
            chosen |= {char.swapcase() for char in chosen}
        return NAME_CHARACTERS - chosen if (found[1] == "P") is not (found[2] == "^") else chosen

    def _escaped(self) -> str:
        """The character that a backslash and what follows it stand for."""
        following = self._text[self._at + 1 : self._at + 2]
        if not following:
            raise BadExpressionError("trailing backslash at end of expression")
        if octal := _OCTAL.match(self._text, self._at):
            self._at = octal.end()
            return chr(int(octal[1], 8))
        if hexadecimal := _HEX.match(self._text, self._at):
            code = int(hexadecimal[1] or hexadecimal[2], 16)
            if code <= 0x10FFFF:
                self._at = hexadecimal.end()
                return chr(code)
        self._at += 2
        if following in _CONTROLS:
            return _CONTROLS[following]
        if following < "\x80" and not following.isalnum():
            return following
        raise BadExpressionError("invalid escape sequence")

    def _set(self) -> frozenset[str]:
        """What brackets contain."""
        is_negated = self._text.startswith("[^", self._at)
        self._at += 1 + is_negated
        chosen: frozenset[str] = frozenset()
        is_first = True
        while is_first or not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                raise BadExpressionError("missing closing ]")
            is_first = False
            posix = _POSIX.match(self._text, self._at)
            if posix:
                if posix[2] not in POSIX:
                    raise BadExpressionError("invalid character class range")
                self._at = posix.end()
                chosen |= NAME_CHARACTERS - POSIX[posix[2]] if posix[1] else POSIX[posix[2]]
                continue
            named = self._named_class() if self._text[self._at] == "\\" else None
            chosen |= self._range() if named is None else named
        self._at += 1
        return NAME_CHARACTERS - chosen if is_negated else chosen

    def _range(self) -> frozenset[str]:
        low = high = self._set_char()
        if self._text.startswith("-", self._at) and self._text[self._at + 1 : self._at + 2] not in ("", "]"):
            self._at += 1
            high = self._set_char()
            if high < low:
                raise BadExpressionError("invalid character class range")
        return folded(low, high) if self._ignores_case else characters(low, high)

    def _set_char(self) -> str:
        if self._at >= len(self._text):
            raise BadExpressionError("missing closing ]")
        if self._text[self._at] == "\\":
            return self._escaped()
        self._at += 1
        return self._text[self._at - 1]
