"""subscribePattern in Java's syntax: the topics that Java's own Pattern finds, or an error that says why not."""

from __future__ import annotations

import re
import warnings
from types import ModuleType

import pytest

from octavo.errors import ConfigError
from octavo.spark.query.java_pattern import compile_java

TOPICS = [
    "orders",
    "orders.v2",
    "Orders_v3",
    "payments-eu",
    "a.b",
    "ab",
    "x",
    "x1",
    "9",
    "__own",
    "aa.bb.aa",
    "a]b",
    "^a",
]
SAME = [
    "ord.*",
    "^orders$",
    "[^.]+",
    "^[a-z]+$",
    "v[23]$",
    "(a+)[.](b+)[.]\\1",
    "(?i)^ORDERS",
    "(?i:O)rders",
    "^(?!__).*[0-9]$",
    "a++b",
    "^\\w+$",
    "\\bv2\\b",
    "^.{1,2}$",
    "^\\x61\\u0062",
    "[\\]^a]",
    "[]x]",
    "^[\\w.-]+$",
]
JAVAS = [
    "^\\p{Alpha}+$",
    "^\\p{Lower}\\p{Digit}",
    "\\p{Lu}",
    "\\pN",
    "^\\P{Punct}+$",
    "^[\\p{L}\\p{Nd}_]+$",
    "^[^\\p{Alpha}]",
    "[\\P{Alnum}&]",
    "^[\\P{Upper}]+$",
    "^(?<first>a+)[.]b+[.]\\k<first>$",
    "^\\Qa.b\\E$",
    "\\Q.v",
    "[\\Q.-\\E]",
    "\\z",
    "orders\\z",
    "v2\\Z",
    "^\\x{61}\\x{62}$",
    "\\0141b",
    "\\cA|\\e|\\h|\\v",
    "^[\\H\\V]+$",
    "a&&b|x",
]


@pytest.mark.kafka
@pytest.mark.parametrize("pattern", [*SAME, *JAVAS])
def test_the_topics_found_are_those_that_java_finds(jvm: ModuleType, pattern: str) -> None:
    java = jvm.JClass("java.util.regex.Pattern").compile(pattern)
    ours = compile_java(pattern)
    assert [topic for topic in TOPICS if ours.search(topic)] == [
        topic for topic in TOPICS if java.matcher(topic).find()
    ]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("^\\p{Alpha}+$", ["orders", "ab", "x"]),
        ("^\\Qa.b\\E$", ["a.b"]),
        ("^(?<first>a+)[.]b+[.]\\k<first>$", ["aa.bb.aa"]),
        ("s\\z", ["orders"]),
        ("^[^\\P{Digit}]", ["9"]),
    ],
)
def test_java_forms_find_topics(pattern: str, found: list[str]) -> None:
    assert list(filter(compile_java(pattern).search, TOPICS)) == found


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("[a-z&&[^x]]+", "has an intersection of classes (&&), which Python's regular expressions do not support"),
        ("[a-c[x-z]]", "has a class inside a class"),
        ("\\p{IsGreek}", "has the property 'IsGreek'"),
        ("a\\R", "has \\R, which"),
        ("\\Ga", "has \\G, which"),
        ("[\\b]", "has \\b, which"),
        ("a\\", "is not a regular expression"),
        ("(", "is not a regular expression"),
        ("a(?i)b", "is not a regular expression"),
        ("(?iu)a", "is not a regular expression"),
        ("\\x{110000}", "is not a regular expression"),
        ("a{99999999999}", "is not a regular expression"),
    ],
)
def test_what_has_no_translation_is_refused(pattern: str, what: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConfigError, match="^" + re.escape(f"subscribePattern '{pattern}' {what}")):
            compile_java(pattern)
