"""Both encodings of every type, tagged fields, versions, nullability, defaults; and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.errors import CorruptionError, EncodingError
from octavo.format.messages.codec import decode, decode_prefix, encode
from octavo.format.messages.notation import message
from octavo.format.messages.primitive_readers import UnreadableMessageError
from octavo.format.messages.schema import UNKNOWN_TAGS, Row

NO, YES = "none", "0+"


def both_ways(flexible: str, fields: str, row: Row, encoded: str, *, version: int = 0) -> None:
    schema = message("M", "0-9", flexible, fields)
    assert encode(schema, version, row).hex() == encoded.replace(" ", "")
    assert decode(schema, version, bytes.fromhex(encoded)) == row


def refused(flexible: str, fields: str, encoded: str, problem: str, position: int, *, version: int = 0) -> None:
    with pytest.raises(CorruptionError, match=problem) as caught:
        decode(message("M", "0-9", flexible, fields), version, bytes.fromhex(encoded))
    assert caught.value.position == position


def unwritable(flexible: str, fields: str, row: Any, problem: str, *, version: int = 0) -> None:
    with pytest.raises(EncodingError, match=problem):
        encode(message("M", "0-9", flexible, fields), version, row)


@pytest.mark.parametrize(
    ("kind", "value", "plain", "flexible"),
    [
        ("bool", True, "01", "01"),
        ("int8", -2, "fe", "fe"),
        ("int16", -2, "fffe", "fffe"),
        ("uint16", 65535, "ffff", "ffff"),
        ("int32", -2, "fffffffe", "fffffffe"),
        ("uint32", 4294967295, "ffffffff", "ffffffff"),
        ("int64", -2, "fffffffffffffffe", "fffffffffffffffe"),
        ("float64", 1.5, "3ff8000000000000", "3ff8000000000000"),
        ("uuid", bytes(range(16)), "000102030405060708090a0b0c0d0e0f", "000102030405060708090a0b0c0d0e0f"),
        ("string", "é", "0002c3a9", "03c3a9"),
        ("bytes", b"ab", "000000026162", "036162"),
        ("records", b"ab", "000000026162", "036162"),
        ("[]int32", [1, 2], "000000020000000100000002", "030000000100000002"),
        ("[]uuid", [bytes(16)], "00000001" + "00" * 16, "02" + "00" * 16),
        ("[]string", ["a", ""], "00000002000161" + "0000", "03026101"),
        ("[]bool", [True, False], "000000020100", "030100"),
    ],
)
def test_every_type_is_encoded_and_decoded(kind: str, value: Any, plain: str, flexible: str) -> None:
    both_ways(NO, f"f {kind}", {"f": value}, plain)
    both_ways(YES, f"f {kind}", {"f": value}, flexible + "00")


@pytest.mark.parametrize(
    ("kind", "plain", "flexible"), [("string", "ffff", "00"), ("bytes", "ffffffff", "00"), ("[]int8", "ffffffff", "00")]
)
def test_null_is_only_for_nullable_fields(kind: str, plain: str, flexible: str) -> None:
    both_ways(NO, f"f {kind} nullable", {"f": None}, plain)
    both_ways(YES, f"f {kind} nullable", {"f": None}, flexible + "00")
    refused(NO, f"f {kind}", plain, "M.f is null", 0)
    refused(YES, f"f {kind}", flexible + "00", "M.f is null", 0)
    refused(NO, f"f {kind} nullable=3+", plain, "M.f is null", 0, version=2)
    unwritable(NO, f"f {kind}", {"f": None}, "M.f is null, not")
    unwritable(NO, f"f {kind} nullable=3+", {"f": None}, "M.f is null, not", version=2)


def test_records_are_a_view_into_the_data() -> None:
    data = bytes.fromhex("000000026162")
    records = decode(message("M", "0", NO, "f records"), 0, data)["f"]
    assert isinstance(records, memoryview) and records.obj is data


def test_any_nonzero_byte_is_true() -> None:
    assert decode(message("M", "0", NO, "f bool"), 0, b"\x7f") == {"f": True}


STRUCTS = """
    before  int8
    inner   Inner   nullable
        x  int16
        y  []Deep
            z  string
    after   int8
"""


def test_structs_may_be_nested_and_null() -> None:
    row = {"before": 1, "inner": {"x": 2, "y": [{"z": "a"}, {"z": ""}]}, "after": 3}
    both_ways(NO, STRUCTS, row, "01 01 0002 00000002 000161 0000 03")
    both_ways(YES, STRUCTS, row, "01 01 0002 03 026100 0100 00 03 00")
    both_ways(NO, STRUCTS, {"before": 1, "inner": None, "after": 3}, "01 ff 03")
    refused(NO, STRUCTS, "010203", "null mark 2, not 1 or 255", 1)
    refused(NO, STRUCTS, "01", "the null mark of M.inner needs 1 byte, 0 are left", 1)


TAGGED = """
    plain   int8
    number  int32   tag=1 default=-1
    text    string  tag=0 nullable
    inner   Inner   tag=2 nullable default=null
        x  int8
    list    []int8  tag=5 nullable default=null
"""
TAGGED_DEFAULTS: Row = {"plain": 1, "number": -1, "text": "", "inner": None, "list": None}


def test_tagged_fields_are_written_in_the_order_of_their_tags() -> None:
    both_ways(YES, TAGGED, TAGGED_DEFAULTS, "01 00")
    row: Row = {"plain": 1, "number": 7, "text": "a", "inner": {"x": 9}, "list": []}
    both_ways(YES, TAGGED, row, "01 04 00 02 0261 01 04 00000007 02 03 01 09 00 05 01 01")
    both_ways(YES, TAGGED, {**TAGGED_DEFAULTS, "text": None}, "01 01 00 01 00")
    assert list(decode(message("M", "0", YES, TAGGED), 0, bytes.fromhex("0100"))) == list(TAGGED_DEFAULTS)


def test_null_of_a_tagged_struct_whose_default_is_empty_is_written() -> None:
    fields = "s S tag=0 nullable\n    x int8"
    both_ways(YES, fields, {"s": {"x": 0}}, "00")
    both_ways(YES, fields, {"s": None}, "01 00 01 00")
    refused(YES, fields, "01 00 01 02", "null mark 2, not 1 or 0", 3)


def test_unknown_tags_are_kept() -> None:
    row = {**TAGGED_DEFAULTS, "number": 7, UNKNOWN_TAGS: {3: b"new", 300: b""}}
    both_ways(YES, TAGGED, row, "01 03 01 04 00000007 03 03 6e6577 ac02 00")


def test_a_field_may_be_tagged_only_in_some_versions() -> None:
    fields = "f int8 0+ tag=0 tagged=2+"
    both_ways(YES, fields, {"f": 1}, "01 00", version=1)
    both_ways(YES, fields, {"f": 1}, "01 00 01 01", version=2)
    refused(YES, fields, "01 01 00 01 01", r"tag 0 \(f\) is not valid in version 1", 2, version=1)


def test_a_field_may_have_an_encoding_of_its_own() -> None:
    """Like a request header's clientId, which does not change in flexible versions."""
    both_ways(YES, "clientId string 0+ nullable flexible=none", {"clientId": "a"}, "0001 61 00")


@pytest.mark.parametrize(
    ("encoded", "problem", "position"),
    [
        ("01 02 01 04 00000007 00 01 01", "tag 0 after tag 1", 8),
        ("01 02 03 00 03 00", "tag 3 after tag 3", 4),
        ("01 01 01 05 0000000700", "number takes 4 bytes, its size says 5", 4),
        ("01 01 01 03 00000007", "number takes 4 bytes, its size says 3", 4),
        ("01 01 07 05 00", "tag 7 of M needs 5 bytes, 1 is left", 4),
        ("01 ffffffff0f 07 00", "the tagged fields of M: the data ends", 8),
        ("01", "the tagged fields of M: the data ends", 1),
    ],
)
def test_broken_tag_sections_are_refused(encoded: str, problem: str, position: int) -> None:
    refused(YES, TAGGED, encoded, problem, position)


@pytest.mark.parametrize(
    ("flexible", "fields", "encoded", "problem", "position"),
    [
        (NO, "a int8\nb int32\nc int16", "0100000002", "M.a to c needs 7 bytes, 5 are left", 0),
        (NO, "a string", "00", "the length of M.a needs 2 bytes, 1 is left", 0),
        (NO, "a int8", "", "M.a needs 1 byte, 0 are left", 0),
        (NO, "a string", "000261", "M.a needs 2 bytes, 1 is left", 2),
        (NO, "a string nullable", "fffe", "M.a has the length -2", 0),
        (NO, "a bytes nullable", "80000000", "M.a has the length -2147483648", 0),
        (NO, "a []int8 nullable", "fffffffe", "M.a has the length -2", 0),
        (NO, "a string", "0002c328", "M.a is not UTF-8", 2),
        (NO, "a string", "0003eda080", "M.a is not UTF-8", 2),
        (YES, "a string", "818002", "M.a has 32768 bytes, but a string may have at most 32767", 0),
        (YES, "a bytes", "ffffffff0f", "M.a needs 4294967294 bytes, 0 are left", 5),
        (YES, "a bytes", "ffffffffff01", "M.a: a variable-length number of more than 5 bytes", 0),
        (NO, "a []int32", "7fffffff00", "M.a with 2147483647 elements needs 8589934588 bytes, 1 is left", 4),
        (NO, "a []uuid", "00000001ff", "M.a with 1 elements needs 16 bytes, 1 is left", 4),
        (NO, "a []string", "7fffffff00", "M.a with 2147483647 elements needs 2147483647 bytes, 1 is left", 4),
        (YES, "a []S\n    x int8", "feffffff0f00", "M.a with 4294967293 elements", 5),
        (NO, "a []S\n    x int8\n    y string", "0000000105", "the length of M.a.y needs 2 bytes, 0 are left", 5),
        (NO, "a int8", "0100", "1 byte is left after M version 0, expected none", 1),
    ],
)
def test_broken_values_are_refused(flexible: str, fields: str, encoded: str, problem: str, position: int) -> None:
    refused(flexible, fields, encoded, problem, position)


@pytest.mark.parametrize(
    ("fields", "value", "problem"),
    [
        ("f int8", 128, "M.f is 128, which int8 cannot hold"),
        ("f uint16", -1, "M.f is -1, which uint16 cannot hold"),
        ("f int64", 1 << 20000, "M.f is a number of 20001 bits, which int64 cannot hold"),
        ("f int32", "1", "M.f is '1', which int32 cannot hold"),
        ("f int32", 1.0, "M.f is 1.0, which int32 cannot hold"),
        ("f int32", None, "M.f is None, which int32 cannot hold"),
        ("f float64", 1 << 2000, "M.f is a number of 2001 bits, which float64 cannot hold"),
        ("f float64", "x", "M.f is 'x', which float64 cannot hold"),
        ("f bool", 1, "M.f is int, not a bool"),
        ("f uuid", b"short", "M.f is bytes, not a uuid of 16 bytes"),
        ("f uuid", "AAAAAAAAAAEAAAAAAAAAAg", "M.f is str, not a uuid of 16 bytes"),
        ("f string", b"x", "M.f is bytes, not a string"),
        ("f string", "\ud800", "M.f cannot be encoded as UTF-8: surrogates not allowed"),
        ("f string", "é" * 16384, "M.f has 32768 bytes, but a string may have at most 32767"),
        ("f bytes", "x", "M.f is str, not bytes"),
        ("f []int8", "x", "M.f is str, not a list"),
        ("f []int8", 5, "M.f is int, not a list"),
        ("f []int8", [300], "M.f is 300, which int8 cannot hold"),
        ("f S\n    x int8", 5, "M.f is int, not a mapping of fields"),
        ("f S\n    x int8", {"y": 5}, "M.f has no field y"),
    ],
    ids=lambda value: "" if isinstance(value, int) else None,  # some are too long to be printed
)
def test_values_that_cannot_be_written_are_refused(fields: str, value: Any, problem: str) -> None:
    unwritable(NO, fields, {"f": value}, problem)
    unwritable(YES, fields, {"f": value}, problem)
    first, *inner = fields.split("\n")
    unwritable(YES, "\n".join([f"{first} tag=0", *inner]), {"f": value}, problem)


@pytest.mark.parametrize(
    ("flexible", "unknown", "problem"),
    [
        (NO, {1: b""}, "carries unknown tags, but version 0 has no tagged fields"),
        (YES, {0: b""}, "unknown tag 0 of bytes"),
        (YES, {"a": b""}, "unknown tag 'a' of bytes"),
        (YES, {1: "text"}, "unknown tag 1 of str"),
        (YES, {-1: b""}, "-1 is not an unsigned"),
        (YES, [1], "list for unknown tags"),
    ],
)
def test_unknown_tags_that_cannot_be_written_are_refused(flexible: str, unknown: Any, problem: str) -> None:
    unwritable(flexible, "f int8 1+ tag=0", {UNKNOWN_TAGS: unknown}, problem)


VERSIONED = """
    old     int8     0-1
    new     int16    2+    default=-1
    quiet   string   3+    ignorable
    list    []int8   4+
    inner   Inner    4+
        x  int8
"""


def test_absent_fields_hold_their_defaults() -> None:
    schema = message("M", "0-4", NO, VERSIONED)
    defaults: Row = {"old": 0, "new": -1, "quiet": "", "list": [], "inner": {"x": 0}}
    assert decode(schema, 1, b"\x07") == {**defaults, "old": 7}
    assert decode(schema, 2, b"\x00\x07") == {**defaults, "new": 7}
    assert encode(schema, 2, {}) == b"\xff\xff"
    assert encode(schema, 1, {"new": -1, "list": (), "inner": {}}) == b"\x00"
    assert encode(schema, 4, {**defaults, "list": (1, 2)}) == bytes.fromhex("ffff 0000 00000002 0102 00")


def test_defaults_are_not_shared_between_rows() -> None:
    schema = message("M", "0-4", YES, VERSIONED + "    tagged []int8 0+ tag=0")
    first = decode(schema, 1, b"\x07\x00")
    for name in ("list", "tagged"):
        first[name].append(1)
    first["inner"]["x"] = 1
    second = decode(schema, 1, b"\x07\x00")
    assert (second["list"], second["tagged"], second["inner"]) == ([], [], {"x": 0})


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"new": 0}, "M.new is set, but version 1 has no such field"),
        ({"list": [1]}, "M.list is set, but version 1"),
        ({"list": None}, "M.list is set, but version 1"),
        ({"inner": {"x": 1}}, "M.inner is set, but version 1"),
        ({"inner": 5}, "M.inner is set, but version 1"),
        ({"other": 1}, "M has no field other"),
        ([], "M is list, not a mapping of fields"),
    ],
)
def test_values_without_a_place_in_the_version_are_refused(row: Any, problem: str) -> None:
    unwritable(NO, VERSIONED, row, problem, version=1)


def test_ignorable_values_are_dropped() -> None:
    assert encode(message("M", "0-4", NO, VERSIONED), 1, {"old": 1, "quiet": "dropped"}) == b"\x01"


def test_unknown_versions_are_refused() -> None:
    schema = message("M", "1-3", NO, "f int8")
    for version in (-1, 0, 4):
        with pytest.raises(CorruptionError, match=f"M has no version {version}; known: 1-3"):
            decode(schema, version, b"\x00")
        with pytest.raises(EncodingError, match=f"M has no version {version}; known: 1-3"):
            encode(schema, version, {})


def test_a_prefix_is_decoded_with_its_end() -> None:
    schema = message("M", "0", NO, "f int8")
    assert decode_prefix(schema, 0, memoryview(b"??\x05rest"), 2) == ({"f": 5}, 3)
    with pytest.raises(CorruptionError) as caught:
        decode_prefix(schema, 0, b"", 7)
    assert caught.value.position == 7


def test_any_buffer_is_read_and_written() -> None:
    schema = message("M", "0", YES, "s string\nb bytes\na []uuid")
    row: Row = {"s": "é", "b": b"abc", "a": [bytes(16)]}
    encoded = encode(schema, 0, row)
    for data in (encoded, bytearray(encoded), memoryview(encoded)):
        decoded = decode(schema, 0, data)
        assert decoded == row
        assert type(decoded["b"]) is type(decoded["a"][0]) is bytes
    assert encode(schema, 0, {**row, "b": bytearray(b"abc")}) == encoded
    assert encode(schema, 0, {**row, "b": memoryview(b"a?b?c")[::2]}) == encoded


@pytest.mark.parametrize(
    ("data", "row", "end"),
    [
        ("0002c328", {"a": "\ufffd("}, 4),
        ("0003eda080", {"a": "\ufffd"}, 5),
        ("fff6", {"a": None}, 2),
    ],
)
def test_a_lenient_reader_accepts_what_kafka_accepts(data: str, row: Row, end: int) -> None:
    schema = message("M", "0", NO, "a  string  nullable")
    assert decode_prefix(schema, 0, bytes.fromhex(data), lenient=True) == (row, end)


def test_a_lenient_reader_looks_at_the_sign_of_a_null_mark() -> None:
    schema = message("M", "0", NO, "s  S  nullable\n    x  int8")
    for mark, row in (("02", {"s": {"x": 7}}), ("fe", {"s": None})):
        with pytest.raises(CorruptionError):
            decode(schema, 0, bytes.fromhex(mark + "07"))
        assert decode_prefix(schema, 0, bytes.fromhex(mark + "07"), lenient=True)[0] == row


@pytest.mark.parametrize(
    ("fields", "data", "row"),
    [
        ("a  string  nullable", "ffffffff0f 00", {"a": None}),
        ("a  []int8  nullable", "8180808008 00", {"a": None}),
        ("a  int8", "07 ffffffff0f", {"a": 7}),
        ("s  S  nullable tag=0\n    x  int8", "01 00 03 02 07 00", {"s": {"x": 7}}),
        ("s  S  nullable tag=0\n    x  int8", "01 00 05 ffffffff0f", {"s": None}),
    ],
)
def test_a_lenient_reader_takes_varints_for_signed_ones(fields: str, data: str, row: Row) -> None:
    schema = message("M", "0", YES, fields)
    with pytest.raises(CorruptionError):
        decode(schema, 0, bytes.fromhex(data))
    assert decode_prefix(schema, 0, bytes.fromhex(data), lenient=True) == (row, len(bytes.fromhex(data)))


def test_a_lenient_reader_does_not_check_the_order_of_tags_and_their_sizes() -> None:
    schema = message("M", "0", YES, "a  int8  tag=0\nb  int8  tag=1")
    data = bytes.fromhex("02 0101 05 007f 07")
    with pytest.raises(CorruptionError):
        decode(schema, 0, data)
    assert decode_prefix(schema, 0, data, lenient=True) == ({"a": 7, "b": 5}, len(data))


@pytest.mark.parametrize(
    ("fields", "data", "reason"),
    [
        ("a  int32", "00", "null"),
        ("a  string", "0003", "Error reading byte array of 3 byte(s): only 0 byte(s) available"),
        ("a  string", "ffff", "non-nullable field a was serialized as null"),
        ("a  []int8", "00000005", "Tried to allocate a collection of size 5, but there are only 0 bytes remaining."),
        ("a  []int32", "0000000100", "null"),
    ],
)
def test_an_error_has_kafkas_words_too(fields: str, data: str, reason: str) -> None:
    schema = message("M", "0", NO, fields)
    with pytest.raises(UnreadableMessageError) as caught:
        decode_prefix(schema, 0, bytes.fromhex(data), lenient=True)
    assert caught.value.kafka_reason == reason
