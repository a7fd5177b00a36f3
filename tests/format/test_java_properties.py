"""Java's properties text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import CorruptionError, EncodingError
from octavo.format.java import properties as java_properties


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("", {}),
        ("#\n#Sun Nov 15 21:00:37 UTC 2026\na=1\n", {"a": "1"}),
        ("  # comment\n\t! comment\n\n   \na=1", {"a": "1"}),
        ("a=1\nb:2\nc 3\nd\te\nf", {"a": "1", "b": "2", "c": "3", "d": "e", "f": ""}),
        ("a = 1\nb : 2\nc   3\nd == 4\ne = : 5", {"a": "1", "b": "2", "c": "3", "d": "= 4", "e": ": 5"}),
        ("a=1  \n", {"a": "1  "}),
        ("=1\n", {"": "1"}),
        (r"a\ b\=c\:d\#e\!=\ x\ty\u00e4\z", {"a b=c:d#e!": " x\tyäz"}),
        ("a=1\\\n   2\\\r\n\t3\nb=4", {"a": "123", "b": "4"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\\n# 2\nb=3", {"a": "1# 2", "b": "3"}),
        ("a=1\\\n\nb=3", {"a": "1", "b": "3"}),
        ("# no\\\na=1", {"a": "1"}),
        ("\\\n# no\na=1\n\\\n\n", {"a": "1"}),
        ("a=1\\", {"a": "1"}),
        ("a=1\rb=2\r\nc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2", {"a": "2"}),
    ],
)
def test_text_is_read_as_java_reads_it(text: str, properties: dict[str, str]) -> None:
    assert java_properties.decode(text.encode()) == properties


@pytest.mark.parametrize(("text", "position"), [("a=\\u12", 0), ("a=\\u", 0), ("b=1\n  a\\u12xy=2", 4)])
def test_a_broken_escape_is_refused(text: str, position: int) -> None:
    with pytest.raises(CorruptionError, match="four hex digits") as raised:
        java_properties.decode(text.encode())
    assert raised.value.position == position


def test_text_is_written_as_java_writes_it() -> None:
    properties = {"a b": "  x y", "c=d": "#1:2!\\", "e": "\t\n\r\f"}
    expected = "#\n#now\na\\ b=\\  x y\nc\\=d=\\#1\\:2\\!\\\\\ne=\\t\\n\\r\\f\n"
    assert java_properties.encode(properties, ["", "now"]) == expected.encode()


def test_text_beyond_ascii_is_written_as_utf8_and_read_as_latin1() -> None:
    assert java_properties.encode({"a": "ä"}) == b"a=\xc3\xa4\n"
    assert java_properties.decode(b"a=\xc3\xa4\n") == {"a": "Ã¤"}


def test_half_a_surrogate_pair_is_refused() -> None:
    assert java_properties.decode(b"a=\\ud800") == {"a": "\ud800"}
    with pytest.raises(EncodingError, match="surrogate"):
        java_properties.encode({"a": "\ud800"})


ASCII = st.text(st.characters(max_codepoint=127))


@given(st.dictionaries(ASCII, ASCII))
def test_round_trip(properties: dict[str, str]) -> None:
    encoded = java_properties.encode(properties, ["comment"])
    assert java_properties.decode(encoded) == properties


@given(st.binary())
def test_any_bytes_decode_or_raise_the_documented_error(data: bytes) -> None:
    try:
        java_properties.decode(data)
    except CorruptionError as error:
        assert error.position is not None
