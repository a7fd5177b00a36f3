"""Reads and writes Java's properties text like java.util.Properties: comments, continued lines, escapes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from octavo.errors import CorruptionError, EncodingError

_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\n|\r|\Z)")
_PROPERTY = re.compile(r"((?:[^\\=: \t\f]|\\.)*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_LEADING = " \t\f"
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|u|.|\Z)", re.DOTALL)
_UNESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = str.maketrans(
    {"\t": r"\t", "\n": r"\n", "\r": r"\r", "\f": r"\f", **{sign: f"\\{sign}" for sign in "\\=:#!"}}
)


def decode(data: bytes) -> dict[str, str]:
    """The properties in file order; a repeated key keeps its first position and its last value.

    Like Kafka, this module writes UTF-8 but reads Latin-1: a non-ASCII key or value comes back changed.
    """
    properties = {}
    for position, line in _logical_lines(data.decode("latin-1")):
        match = _PROPERTY.fullmatch(line)
        assert match is not None  # any text matches
        properties[_unescape(match[1], position)] = _unescape(match[2], position)
    return properties


def encode(properties: Mapping[str, str], comments: Sequence[str] = ()) -> bytes:
    """The text, in the mapping's order: comment lines first, then one line per property."""
    content = [f"#{comment}\n" for comment in comments]
    for key, value in properties.items():
        escaped_key = key.translate(_ESCAPED).replace(" ", r"\ ")
        before_blank = "\\" if value.startswith(" ") else ""
        content.append(f"{escaped_key}={before_blank}{value.translate(_ESCAPED)}\n")
    try:
        return "".join(content).encode("utf-8")
    except UnicodeEncodeError as error:
        raise EncodingError(f"properties hold half of a surrogate pair: {error.object[error.start]!r}") from error


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with a property, each with its position; continued lines are joined."""
    start = 0
    parts: list[str] = []
    for match in _LINE.finditer(text):
        line = match[1].lstrip(_LEADING)
        if not parts:
            if not line or line[0] in "#!":
                continue
            start = match.start()
        if (len(line) - len(line.rstrip("\\"))) % 2:
            if parts or len(line) > 1:  # after a lone backslash Java starts a new line
                parts.append(line[:-1])
            continue
        yield start, "".join([*parts, line])
        parts = []
    if parts:
        yield start, "".join(parts)


def _unescape(text: str, position: int) -> str:
    def replaced(match: re.Match[str]) -> str:
        escape = match[1]
        if len(escape) == 5:
            return chr(int(escape[1:], 16))
        if escape == "u":
            raise CorruptionError("expected four hex digits after \\u", position=position)
        return _UNESCAPED.get(escape, escape)

    return _ESCAPE.sub(replaced, text)
