"""Regular expressions, compared with what RE2/J 1.8 makes of them."""

from __future__ import annotations

import pytest

from octavo.coordinator.groups.consumer.regex.nodes import BadExpressionError
from octavo.coordinator.groups.consumer.regex.pattern import compiled

NAMES = ["a", "b", "ab", "AB", "abc", "K", "k", "a.b", "1", "foo-bar_1.2", "orders", "aa", "A", "_", "-", "aA1"]
# Each expression, and which of the names it matches, or why it is invalid.
OUTCOMES = [
    ("a)", "regexp/syntax: internal error"),
    ("(a", "missing closing )"),
    ("(?=a)", "invalid or unsupported Perl syntax"),
    ("(?<n>a)", "1000000000000000"),
    ("(?P<n>a)", "1000000000000000"),
    ("(?P<n>a)(?P<n>b)", "duplicate capture group name"),
    ("(?P<1-a>a)", "invalid named capture"),
    ("(?i)ab", "0011000000000000"),
    ("(?i:ab)c", "0000100000000000"),
    ("(?z)a", "invalid or unsupported Perl syntax"),
    ("(?i", "invalid or unsupported Perl syntax"),
    ("a**", "invalid nested repetition operator"),
    ("a*?", "1000000000010000"),
    ("a+?+", "invalid nested repetition operator"),
    ("*a", "missing argument to repetition operator"),
    ("a{2,1}", "invalid repeat count"),
    ("a{1001}", "invalid repeat count"),
    ("a{1000}", "0000000000000000"),
    ("(a{1000}){1000}", "0000000000000000"),
    ("a{,2}", "0000000000000000"),
    ("a{2", "0000000000000000"),
    ("a{2,}", "0000000000010000"),
    ("[b-a]", "invalid character class range"),
    ("[a", "missing closing ]"),
    ("[]a]", "1000000000000000"),
    ("[^]a]", "0100011010001110"),
    ("[[:alpha:]]+", "1111111000111000"),
    ("[[:foo:]]", "invalid character class range"),
    ("[[:^alpha:]]", "0000000010000110"),
    (r"\pL", "1100011000001000"),
    (r"\p{Greek}", "0000000000000000"),
    (r"\p{Foo}", "invalid character class range"),
    (r"\p{^L}", "0000000010000110"),
    (r"\PL", "0000000010000110"),
    (r"\p", "invalid character class range"),
    ("\\", "trailing backslash at end of expression"),
    (r"\1", "invalid escape sequence"),
    (r"\12", "0000000000000000"),
    (r"\0", "0000000000000000"),
    (r"\08", "0000000000000000"),
    (r"\8", "invalid escape sequence"),
    (r"\x41", "0000000000001000"),
    (r"\x{41}", "0000000000001000"),
    (r"\xg", "invalid escape sequence"),
    (r"\Qa.b\E", "0000000100000000"),
    (r"\Qa.b", "0000000100000000"),
    (r"\z", "0000000000000000"),
    (r"\Z", "invalid escape sequence"),
    (r"\A", "0000000000000000"),
    (r"\C", "invalid escape sequence"),
    (r"\b", "0000000000000000"),
    (r"\G", "invalid escape sequence"),
    (r"\w+", "1111111010111101"),
    (r"\h", "invalid escape sequence"),
    (r"\-", "0000000000000010"),
    (r"\_", "0000000000000100"),
    ("a||b", "1100000000000000"),
    ("|", "0000000000000000"),
    ("", "0000000000000000"),
    ("(|a)*", "1000000000010000"),
    ("^*", "0000000000000000"),
    ("$*", "0000000000000000"),
    ("(?:)", "0000000000000000"),
    ("()", "0000000000000000"),
    (r"[a-\d]", "invalid escape sequence"),
    (r"[\d-z]", "0000000010000010"),
    ("[a-]", "1000000000000010"),
    ("[-a]", "1000000000000010"),
    ("a-z", "0000000000000000"),
    ("{", "0000000000000000"),
    ("}", "0000000000000000"),
    ("a{", "0000000000000000"),
    ("a{1}{2}", "invalid nested repetition operator"),
    ("a{1}*", "invalid nested repetition operator"),
    (r"(?i)\x{212A}", "0000011000000000"),
    ("(?U)a*", "1000000000010000"),
    ("(?-i)a", "1000000000000000"),
    ("(?i-)a", "invalid or unsupported Perl syntax"),
    ("(?)a", "1000000000000000"),
    ("(?^)a", "invalid or unsupported Perl syntax"),
    (r"\e", "invalid escape sequence"),
    (r"\a", "0000000000000000"),
    (r"\cA", "invalid escape sequence"),
    ("[[.a.]]", "0000000000000000"),
    ("[[=a=]]", "0000000000000000"),
    (r"a\E", "invalid escape sequence"),
    ("(?#x)", "invalid or unsupported Perl syntax"),
    ("(?>a)", "invalid or unsupported Perl syntax"),
    ("a++", "invalid nested repetition operator"),
    (r"\R", "invalid escape sequence"),
    (r"\X", "invalid escape sequence"),
    (r"\k<n>", "invalid escape sequence"),
    ("x{0}", "0000000000000000"),
    ("[a-c-e]", "1100000000000010"),
    (r"[\Qa\E]", "invalid escape sequence"),
    (r"\pN+", "0000000010000000"),
    (r"[\pN_]", "0000000010000100"),
    ("(?s).", "1100011010001110"),
    ("(?m)^a$", "1000000000000000"),
    ("[[:word:]]", "1100011010001100"),
    ("[:alpha:]", "1000000000000000"),
    (r"\p{L}", "1100011000001000"),
    (r"\p{Latin}", "1100011000001000"),
    (r"\p{Lu}", "0000010000001000"),
    (r"\p{Any}", "1100011010001110"),
    ("(((a)))", "1000000000000000"),
    (r"\d{2}", "0000000000000000"),
    ("[^a-z]", "0000010010001110"),
    ("foo.*", "0000000001000000"),
    ("(?im)A", "1000000000001000"),
    ("a|b|", "1100000000000000"),
    ("((", "missing closing )"),
    ("))", "regexp/syntax: internal error"),
    ("[", "missing closing ]"),
    ("]", "0000000000000000"),
    ("(?P<n", "invalid named capture"),
    ("(?P=n)", "invalid or unsupported Perl syntax"),
    ("(?P<>a)", "invalid named capture"),
    (r"\u0041", "invalid escape sequence"),
    (r"\N{x}", "invalid escape sequence"),
    ("a{1,1000}", "1000000000010000"),
    ("a{0,1001}", "invalid repeat count"),
    ("a{99999999999}", "invalid repeat count"),
    ("((a{100}){100}){100}", "0000000000000000"),
    ("(?i)K", "0000011000000000"),
]


@pytest.mark.parametrize(("expression", "outcome"), OUTCOMES)
def test_expressions(expression: str, outcome: str) -> None:
    try:
        pattern = compiled(expression)
    except BadExpressionError as error:
        assert str(error) == outcome
    else:
        assert "".join("01"[pattern.matches(name)] for name in NAMES) == outcome


def test_expressions_that_take_other_engines_forever() -> None:
    name = "a" * 248 + "b"
    for expression in ("(a*)*c", "(a|a)*c", "(a?){100}a{100}c", "(?:a+)+$"):
        assert not compiled(expression).matches(name)
    assert compiled("(a*)*b").matches(name)


def test_the_size_of_expressions_is_limited() -> None:
    for expression in ("((a{0,100}){0,100}){0,100}", "(" * 1000 + ")" * 1000):
        with pytest.raises(BadExpressionError):
            compiled(expression)
