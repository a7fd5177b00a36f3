"""Regular expressions match as in RE2/J 1.8, which Kafka uses."""

from __future__ import annotations

import pytest

from octavo.coordinator.patterns import BadPatternError, matching

NAMES = ["a", "b", "ab", "AB", "abc", "K", "k", "a.b", "1", "foo-bar_1.2", "orders", "aa", "A", "_", "-", "aA1"]
INVALID = "invalid"
# Each expression, and which of the names it matches.
OUTCOMES = [
    ("a)", INVALID),
    ("(a", INVALID),
    ("(?=a)", INVALID),
    ("(?<n>a)", "1000000000000000"),
    ("(?P<n>a)", "1000000000000000"),
    ("(?P<1-a>a)", INVALID),
    ("(?i)ab", "0011000000000000"),
    ("(?i:ab)c", "0000100000000000"),
    ("(?z)a", INVALID),
    ("(?i", INVALID),
    ("a**", INVALID),
    ("a*?", "1000000000010000"),
    ("a+?+", INVALID),
    ("*a", INVALID),
    ("a{2,1}", INVALID),
    ("a{1001}", INVALID),
    ("a{1000}", "0000000000000000"),
    ("a{,2}", "0000000000000000"),
    ("a{2", "0000000000000000"),
    ("a{2,}", "0000000000010000"),
    ("[b-a]", INVALID),
    ("[a", INVALID),
    ("[]a]", "1000000000000000"),
    ("[^]a]", "0100011010001110"),
    ("[[:alpha:]]+", "1111111000111000"),
    ("[[:foo:]]", INVALID),
    ("[[:^alpha:]]", "0000000010000110"),
    (r"\pL", "1100011000001000"),
    (r"\p{Greek}", "0000000000000000"),
    (r"\p{Foo}", INVALID),
    (r"\p{^L}", "0000000010000110"),
    (r"\PL", "0000000010000110"),
    (r"\p", INVALID),
    ("\\", INVALID),
    (r"\1", INVALID),
    (r"\12", "0000000000000000"),
    (r"\0", "0000000000000000"),
    (r"\08", "0000000000000000"),
    (r"\8", INVALID),
    (r"\x41", "0000000000001000"),
    (r"\x{41}", "0000000000001000"),
    (r"\xg", INVALID),
    (r"\Qa.b\E", "0000000100000000"),
    (r"\Qa.b", "0000000100000000"),
    (r"\z", "0000000000000000"),
    (r"\Z", INVALID),
    (r"\A", "0000000000000000"),
    (r"\b", "0000000000000000"),
    (r"\G", INVALID),
    (r"\w+", "1111111010111101"),
    (r"\h", INVALID),
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
    (r"[a-\d]", INVALID),
    (r"[\d-z]", "0000000010000010"),
    ("[a-]", "1000000000000010"),
    ("[-a]", "1000000000000010"),
    ("a-z", "0000000000000000"),
    ("{", "0000000000000000"),
    ("}", "0000000000000000"),
    ("a{", "0000000000000000"),
    ("a{1}{2}", INVALID),
    ("a{1}*", INVALID),
    (r"(?i)\x{212A}", "0000011000000000"),
    ("(?U)a*", "1000000000010000"),
    ("(?-i)a", "1000000000000000"),
    ("(?i-)a", INVALID),
    ("(?)a", "1000000000000000"),
    ("(?^)a", INVALID),
    (r"\e", INVALID),
    (r"\a", "0000000000000000"),
    (r"\cA", INVALID),
    ("[[.a.]]", "0000000000000000"),
    ("[[=a=]]", "0000000000000000"),
    (r"a\E", INVALID),
    ("(?#x)", INVALID),
    ("(?>a)", INVALID),
    ("a++", INVALID),
    (r"\R", INVALID),
    (r"\X", INVALID),
    (r"\k<n>", INVALID),
    ("x{0}", "0000000000000000"),
    ("[a-c-e]", "1100000000000010"),
    (r"[\Qa\E]", INVALID),
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
    ("((", INVALID),
    ("))", INVALID),
    ("[", INVALID),
    ("]", "0000000000000000"),
    ("(?P<n", INVALID),
    ("(?P=n)", INVALID),
    ("(?P<>a)", INVALID),
    (r"\u0041", INVALID),
    (r"\N{x}", INVALID),
    ("a{1,1000}", "1000000000010000"),
    ("a{0,1001}", INVALID),
    ("(?i)K", "0000011000000000"),
    (r"\C", INVALID),
    (r"a\Cb", INVALID),
    (r"[\C]", INVALID),
    (r"\\C", "0000000000000000"),
    (r"\Q\C\E|a", "1000000000000000"),
]


@pytest.mark.parametrize(("expression", "outcome"), OUTCOMES)
def test_a_pattern_matches_as_in_re2j(expression: str, outcome: str) -> None:
    if outcome == INVALID:
        for names in (NAMES, []):
            with pytest.raises(BadPatternError):
                matching(names, expression)
    else:
        assert matching(NAMES, expression) == [
            name for name, is_match in zip(NAMES, outcome, strict=True) if is_match == "1"
        ]


def test_patterns_that_take_other_engines_forever_are_matched() -> None:
    name = "a" * 248 + "b"
    for expression in ("(a*)*c", "(a|a)*c", "(a?){100}a{100}c", "(?:a+)+$"):
        assert not matching([name], expression)
    assert matching([name], "(a*)*b")


def test_the_size_of_patterns_is_limited() -> None:
    with pytest.raises(BadPatternError):
        matching(NAMES, "((a{0,100}){0,100}){0,100}")
