"""The classes of characters that RE2 knows by name, reduced to the characters of topic names."""

from __future__ import annotations

import re
import string
import unicodedata

from octavo.coordinator.groups.consumer.regex.nodes import NAME_CHARACTERS, BadExpressionError

_LETTERS = frozenset(string.ascii_letters)
_DIGITS = frozenset(string.digits)
_WORD = _LETTERS | _DIGITS | {"_"}
_PUNCTUATION = frozenset("._-")

PERL = {"d": _DIGITS, "w": _WORD, "s": frozenset[str]()}
POSIX = {
    "alnum": _LETTERS | _DIGITS,
    "alpha": _LETTERS,
    "ascii": NAME_CHARACTERS,
    "blank": frozenset[str](),
    "cntrl": frozenset[str](),
    "digit": _DIGITS,
    "graph": NAME_CHARACTERS,
    "lower": frozenset(string.ascii_lowercase),
    "print": NAME_CHARACTERS,
    "punct": _PUNCTUATION,
    "space": frozenset[str](),
    "upper": frozenset(string.ascii_uppercase),
    "word": _WORD,
    "xdigit": frozenset(string.hexdigits),
}
_CATEGORIES = re.compile("C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?")
_OTHER_SCRIPTS = re.compile(
    "Arabic|Armenian|Bengali|Bopomofo|Cherokee|Coptic|Cyrillic|Devanagari|Ethiopic|Georgian|Gothic|Greek|Gujarati|"
    "Gurmukhi|Han|Hangul|Hebrew|Hiragana|Inherited|Kannada|Katakana|Khmer|Lao|Malayalam|Mongolian|Myanmar|Ogham|Oriya|"
    "Runic|Sinhala|Syriac|Tamil|Telugu|Thaana|Thai|Tibetan|Yi"
)


def unicode_class(name: str) -> frozenset[str]:
    """The characters of a category such as Lu or of a script such as Greek."""
    if name == "Any":
        return NAME_CHARACTERS
    if _CATEGORIES.fullmatch(name):
        return frozenset(char for char in NAME_CHARACTERS if unicodedata.category(char).startswith(name))
    if name == "Latin":
        return _LETTERS
    if name == "Common":
        return NAME_CHARACTERS - _LETTERS
    if _OTHER_SCRIPTS.fullmatch(name):
        return frozenset()
    raise BadExpressionError("invalid character class range")


def characters(low: str, high: str) -> frozenset[str]:
    return frozenset(char for char in NAME_CHARACTERS if low <= char <= high)


def folded(low: str, high: str) -> frozenset[str]:
    """The characters that equal one of a range if case is ignored."""
    if low == high:
        return frozenset(char for char in NAME_CHARACTERS if char.casefold() == low.casefold())
    chosen = characters(low, high)
    return chosen | frozenset(char.swapcase() for char in chosen)
