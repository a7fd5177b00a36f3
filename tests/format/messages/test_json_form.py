"""JSON as Kafka's converters and Jackson print it."""

from __future__ import annotations

import pytest

from octavo.errors import EncodingError
from octavo.format.messages.json_form import json_text, json_value
from octavo.format.messages.notation import message
from octavo.format.messages.schema import UNKNOWN_TAGS


def test_fields_are_printed_in_the_order_of_the_schema() -> None:
    schema = message("M", "0", "0+", """
        flag     bool
        tagged   int8     tag=0 default=-1
        number   int64
        ratio    float64
        id       uuid
        data     bytes
        text     string
        nothing  string   nullable
        list     []uuid
        inner    Inner
            x  int8
    """)  # fmt: skip
    row = {
        "inner": {"x": 1},
        "flag": True,
        "number": -(1 << 63),
        "ratio": 1e7,
        "id": bytes(15) + b"\x01",
        "data": b"\xfb\xff\xfe?",
        "text": "é",
        "nothing": None,
        "list": [bytes(16)],
        UNKNOWN_TAGS: {5: b"x"},
    }
    assert json_text(json_value(schema, 0, row)) == (
        '{"flag":true,"number":-9223372036854775808,"ratio":1.0E7,"id":"AAAAAAAAAAAAAAAAAAAAAQ","data":"+//+Pw==",'
        '"text":"é","nothing":null,"list":["AAAAAAAAAAAAAAAAAAAAAA"],"inner":{"x":1}}'
    )
    assert json_text(json_value(schema, 0, {**row, "tagged": 0})).startswith('{"flag":true,"tagged":0,"number"')


def test_only_the_fields_of_the_version_are_printed() -> None:
    schema = message("M", "0-2", "none", "old int8 0-1\nnew int8 2+")
    row = {"old": 1, "new": 2}
    assert json_value(schema, 1, row) == {"old": 1}
    assert json_value(schema, 2, row) == {"new": 2}
    with pytest.raises(EncodingError, match="no version 3; known: 0-2"):
        json_value(schema, 3, row)


def test_records_are_shown_by_their_size() -> None:
    schema = message("M", "0", "none", "records records nullable")
    assert json_value(schema, 0, {"records": memoryview(b"abc")}) == {"recordsSizeInBytes": 3}
    assert json_value(schema, 0, {"records": None}) == {"records": None}


def test_text_is_escaped_as_jackson_does() -> None:
    assert json_text('"\\/\b\f\n\r\t\x00\x1f\x7f\u2028é😀') == '"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001F\x7f\u2028é😀"'


def test_doubles_that_json_cannot_have_are_text() -> None:
    assert json_text([0.5, 5e-324, float("nan"), float("-inf")]) == '[0.5,4.9E-324,"NaN","-Infinity"]'
