r"""Translates Java's regular expressions into Python's, so that queries keep their subscribePattern.

Most of the syntax is the same. What differs (\p{Alpha}, (?<name>…), \Q…\E, \z and such) is translated, or refused if
Python has nothing like it or would understand something else.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable

from octavo.errors import ConfigError

# Topic names are ASCII, so a Unicode property stands for its ASCII characters.
_LOWER, _UPPER, _DIGIT = "a-z", "A-Z", "0-9"
_ALPHA, _PUNCT, _SPACE = _LOWER + _UPPER, r"!-/:-@\[-`{-~", r" \t\n\x0b\f\r"
_PROPERTIES = {
    **dict.fromkeys(("Lower", "Ll", "IsLl", "IsLowercase", "javaLowerCase"), _LOWER),
    **dict.fromkeys(("Upper", "Lu", "IsLu", "IsUppercase", "javaUpperCase"), _UPPER),
    **dict.fromkeys(("Alpha", "L", "IsL", "IsAlphabetic", "IsLetter", "javaLetter"), _ALPHA),
    **dict.fromkeys(("Digit", "N", "IsN", "Nd", "IsNd", "IsDigit", "javaDigit"), _DIGIT),
    **dict.fromkeys(("Alnum", "javaLetterOrDigit"), _ALPHA + _DIGIT),
    **dict.fromkeys(("Space", "IsWhite_Space"), _SPACE),
    "Punct": _PUNCT,
    "Graph": _ALPHA + _DIGIT + _PUNCT,
    "Print": " " + _ALPHA + _DIGIT + _PUNCT,
    "XDigit": "0-9a-fA-F",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "ASCII": r"\x00-\x7f",
}
_ESCAPED_CLASSES = {"h": r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000", "v": r"\n\x0b\f\r\x85\u2028\u2029"}
_ENDS = {"z": r"\Z", "Z": r"(?=\n?\Z)"}
_SAME_IN_CLASS = frozenset("adDfnrsStuwWx")  # the same in both languages
_SAME = _SAME_IN_CLASS | frozenset("AbB123456789")
_CODES: dict[str, Callable[[str], int]] = {
    "hex": lambda digits: int(digits, 16),
    "octal": lambda digits: int(digits, 8),
    "control": lambda character: ord(character) ^ 64,
}
_TOKEN = re.compile(
    r"""\\Q(?P<quoted>.*?)(?:\\E|\Z)
    | \\(?P<is>[pP]) (?:\{(?P<property>[^}]*)\} | (?P<letter>[A-Z]))
    | \\k<(?P<group>\w+)>
    | \\x\{(?P<hex>[0-9A-Fa-f]+)\} | \\0(?P<octal>[0-3]?[0-7]{1,2}) | \\c(?P<control>.)
    | \\(?P<escaped>.)
    | \(\?<(?P<name>[A-Za-z][A-Za-z0-9]*)>
    | (?P<intersection>&&)
    | (?P<character>.)""",
    re.VERBOSE | re.DOTALL,
)


def compile_java(pattern: str) -> re.Pattern[str]:
    """The pattern for Python, whose `search` finds in topic names what Java's would find."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a FutureWarning means that a class may change its meaning
        try:
            return re.compile(_Translation(pattern).text, re.ASCII)
        except ConfigError:
            raise
        except (re.error, ValueError, OverflowError, RecursionError, Warning) as error:
            problem = f"is not a regular expression that Python understands: {error}"
            raise ConfigError(f"subscribePattern '{pattern}' {problem}") from None


class _Translation:
    """One pass over a pattern; the same tokens are written differently inside a class."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._class_start: int | None = None  # after the bracket (and the ^) that opened the class
        self.text = "".join(self._written(match) for match in _TOKEN.finditer(pattern))

    def _written(self, token: re.Match[str]) -> str:
        kind = token.lastgroup or ""
        text = token[kind]
        if kind == "character":
            return self._character(token)
        if kind == "quoted":
            return re.escape(text)
        if kind in ("property", "letter"):
            return self._property(text, negated=token["is"] == "P")
        if kind in _CODES:
            return re.escape(chr(_CODES[kind](text)))
        if kind == "escaped":
            return self._escaped(text)
        if self._class_start is None:
            return {"group": f"(?P={text})", "name": f"(?P<{text}>"}.get(kind, text)
        if kind == "name":
            return re.escape(token[0])
        raise self._refused("an intersection of classes (&&)" if kind == "intersection" else token[0])

    def _character(self, token: re.Match[str]) -> str:
        character = token["character"]
        if self._class_start is None:
            if character == "[":
                self._class_start = token.end() + self._pattern.startswith("^", token.end())
            return character
        if token.start() < self._class_start:
            return character
        if character == "]" and token.start() > self._class_start:
            self._class_start = None
            return character
        if character == "[":
            raise self._refused("a class inside a class")
        return character if character == "-" else re.escape(character)

    def _property(self, name: str, *, negated: bool) -> str:
        members = _PROPERTIES.get(name)
        if members is None:
            raise self._refused(f"the property {name!r}")
        return self._members(members, negated=negated)

    def _escaped(self, character: str) -> str:
        if character.lower() in _ESCAPED_CLASSES:
            return self._members(_ESCAPED_CLASSES[character.lower()], negated=character.isupper())
        if character in _ENDS and self._class_start is None:
            return _ENDS[character]
        if character == "e":
            return r"\x1b"
        if character in (_SAME if self._class_start is None else _SAME_IN_CLASS):
            return f"\\{character}"
        if character.isascii() and character.isalnum():
            raise self._refused(f"\\{character}")
        return re.escape(character)

    def _members(self, members: str, *, negated: bool) -> str:
        if self._class_start is None:
            return f"[{'^' if negated else ''}{members}]"
        return _others(members) if negated else members

    def _refused(self, what: str) -> ConfigError:
        return ConfigError(
            f"subscribePattern '{self._pattern}' has {what}, which Python's regular expressions do not support; write"
            " the pattern another way"
        )


def _others(members: str) -> str:
    """All characters outside a class, as members of another class."""
    inside = re.compile(f"[{members}]")
    return "".join(re.escape(chr(code)) for code in range(128) if not inside.match(chr(code))) + r"\x80-\U0010ffff"
