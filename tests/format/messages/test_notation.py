"""Schemas written as text."""

from __future__ import annotations

import pytest

from octavo.format.messages.notation import message, parse_fields
from octavo.format.messages.schema import (
    BOOL,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    NO_VERSIONS,
    STRING,
    Array,
    Field,
    Struct,
    Versions,
)


def test_every_option_is_parsed() -> None:
    inner = Struct("Inner", (Field("x", INT8), Field("y", Array(STRING))))
    assert parse_fields("""
        plain      int8
        later      int16      3+
        once       bool       2      default=true
        ranged     float64    1-4    default=1.5 ignorable
        nothing    string     3+     nullable default=null
        sometimes  string     nullable=5+ default=text
        tagged     int32      1+     tag=0 default=-1
        tagged2    int32      tag=1 tagged=2+
        inner      []Inner
            x  int8
            y  []string
        again      Inner      nullable
        header     string     flexible=none
    """) == (
        Field("plain", INT8),
        Field("later", INT16, Versions(3, 32767)),
        Field("once", BOOL, Versions(2, 2), declared_default=True),
        Field("ranged", FLOAT64, Versions(1, 4), declared_default=1.5, ignorable=True),
        Field("nothing", STRING, Versions(3, 32767), nullable=Versions(3, 32767), declared_default=None),
        Field("sometimes", STRING, nullable=Versions(5, 32767), declared_default="text"),
        Field("tagged", INT32, Versions(1, 32767), tag=0, tagged=Versions(1, 32767), declared_default=-1),
        Field("tagged2", INT32, tag=1, tagged=Versions(2, 32767)),
        Field("inner", Array(inner)),
        Field("again", inner, nullable=Versions(0, 32767)),
        Field("header", STRING, flexible=NO_VERSIONS),
    )


def test_a_message_may_have_no_fields() -> None:
    schema = message("NoOp", "0-2", "1+")
    assert (schema.name, schema.fields) == ("NoOp", ())
    assert (str(schema.versions), str(schema.flexible)) == ("0-2", "1+")


@pytest.mark.parametrize("text", ["none", "0", "3", "0-4", "3+"])
def test_versions_are_printed_as_written(text: str) -> None:
    assert str(Versions.parse(text)) == text


def test_versions_are_a_range() -> None:
    versions = Versions.parse("2-4")
    assert [version for version in range(7) if version in versions] == list(versions) == [2, 3, 4]
    assert list(NO_VERSIONS) == []


@pytest.mark.parametrize(
    ("text", "error"),
    [("f int8 ignored", ValueError), ("f Missing", KeyError), ("f bool default=yes", KeyError), ("f", ValueError)],
)
def test_mistakes_are_found_when_declared(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        parse_fields(text)
