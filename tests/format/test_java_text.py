"""Java's rules for reading lines, fields and numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import CorruptionError
from octavo.format.java import text as java_text


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [(0, "")]),
        (b"a", [(0, "a")]),
        (b"a\n", [(0, "a")]),
        (b"a\nb\r\nc\rd", [(0, "a"), (2, "b"), (5, "c"), (7, "d")]),
        (b"\r\n\n\r", [(0, ""), (2, ""), (3, "")]),
        ("ä\x85\u2028b\n".encode(), [(0, "ä\x85\u2028b")]),  # Java knows no other line breaks
    ],
)
def test_lines_end_where_java_ends_them(data: bytes, lines: list[tuple[int, str]]) -> None:
    assert java_text.lines(data) == lines


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(CorruptionError, match="expected UTF-8 text, found bytes ff") as raised:
        java_text.lines(b"0\nab\xff")
    assert raised.value.position == 4


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("a 0 5", ["a", "0", "5"]),
        ("a \t 0\f5  ", ["a", "0", "5"]),
        (" a", ["", "a"]),
        ("", []),
        ("  ", []),
        ("a\u00a0b", ["a\u00a0b"]),  # a blank, but not one of Java's
    ],
)
def test_fields_are_split_as_in_java(text: str, fields: list[str]) -> None:
    assert java_text.split(text) == fields


@pytest.mark.parametrize(
    ("text", "bits", "number"),
    [
        ("0", 32, 0),
        ("-0", 32, 0),
        ("+7", 32, 7),
        ("007", 32, 7),
        ("2147483647", 32, 2**31 - 1),
        ("-2147483648", 32, -(2**31)),
        ("-9223372036854775808", 64, -(2**63)),
        ("0" * 10000 + "5", 64, 5),
    ],
)
def test_numbers_are_read_as_in_java(text: str, bits: int, number: int) -> None:
    assert java_text.parse_integer(text, bits) == number


@pytest.mark.parametrize("text", ["", "+", "-", "1 ", " 1", "1.0", "0x1", "1_0", "--1", "٣", "a", "\x00\x00"])
def test_what_is_not_a_number_is_refused(text: str) -> None:
    with pytest.raises(CorruptionError, match="expected a whole number") as raised:
        java_text.parse_integer(text, 32, 11)
    assert raised.value.position == 11


@pytest.mark.parametrize(
    ("text", "bits"), [("2147483648", 32), ("-2147483649", 32), ("9223372036854775808", 64), ("9" * 10000, 64)]
)
def test_numbers_beyond_their_bits_are_refused(text: str, bits: int) -> None:
    with pytest.raises(CorruptionError, match=f"expected a number that fits in {bits} bits"):
        java_text.parse_integer(text, bits)


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_number_reads_back(number: int) -> None:
    assert java_text.parse_integer(str(number), 64) == number


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (-1.5, "-1.5"),
        (100.0, "100.0"),
        (0.1, "0.1"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (9999999.0, "9999999.0"),
        (9999999.5, "9999999.5"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (1e23, "1.0E23"),
        (-3.25e-7, "-3.25E-7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (5e-324, "4.9E-324"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_doubles_are_printed_as_in_java(value: float, shown: str) -> None:
    assert java_text.double_text(value) == shown
