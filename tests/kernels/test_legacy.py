"""v0 and v1 message sets to columns: golden bytes, every code, offsets and timestamps of wrapped sets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import ENTRY_PREFIX, Code, Column, Outcome
from tests.golden.strings import MESSAGES, TS0
from tests.kernels.hand_made import content, message, raw_message


def decode(kernels: SimpleNamespace, data: bytes, **options: Any) -> tuple[Outcome, dict[str, Any]]:
    out = RecordColumns.empty(100, 10_000)
    outcome = kernels.decode_messages(data, 0, len(data), out, Column.ALL, **options)
    return outcome, content(out)


@pytest.mark.parametrize(("name", "timestamps"), [("v0", [-1, -1]), ("v1", [TS0, TS0 + 5])])
def test_golden_messages_become_columns(kernels: SimpleNamespace, name: str, timestamps: list[int]) -> None:
    outcome, columns = decode(kernels, MESSAGES[name])
    assert outcome == (Code.DONE, 0, 0, 0)
    assert columns == {
        "rows": 2,
        "offset": [10, 11],
        "timestamp": timestamps,
        "key": [b"k", None],
        "value": [b"v1", b"v2"],
        "header_offsets": [0, 0, 0],
        "header_key": [],
        "header_value": [],
    }


SOUND = message(7, b"key", None)
LENGTH = len(SOUND)
FLIPPED = bytes([*message(8)[:-1], message(8)[-1] ^ 1])
STORED_CRC = int.from_bytes(message(8)[12:16])

# What follows a sound message: (code, bytes, position counted from those bytes, found)
PROBLEMS = {
    "size 0": (Code.MESSAGE_TOO_SMALL, b"\0" * 12, 0, 0),
    "size -1": (Code.MESSAGE_TOO_SMALL, ENTRY_PREFIX.pack(8, -1), 0, -1),
    "size 13": (Code.MESSAGE_TOO_SMALL, ENTRY_PREFIX.pack(8, 13) + b"\0" * 13, 0, 13),
    "wrong CRC": (Code.MESSAGE_CRC_MISMATCH, FLIPPED, 0, STORED_CRC),
    "compressed": (Code.NESTED_COMPRESSION, message(8, attributes=3), 0, 3),
    "unknown codec": (Code.NESTED_COMPRESSION, message(8, attributes=7), 0, 7),
    "v0 without a value": (Code.FIELD_BEYOND_MESSAGE, raw_message(8, 0, 0, b"\0\0\0\1k\0\0\0"), 18, 1),
    "v1 without fields": (Code.FIELD_BEYOND_MESSAGE, raw_message(8, 1, 0, b"\0" * 8), 0, 26),
    "v1 of one field": (Code.FIELD_BEYOND_MESSAGE, raw_message(8, 1, 0, b"\0" * 15), 0, 33),
    "key beyond": (Code.FIELD_BEYOND_MESSAGE, raw_message(8, 0, 0, b"\0\0\0\5key\0\0\0\0"), 18, 5),
    "largest key": (Code.FIELD_BEYOND_MESSAGE, raw_message(8, 0, 0, b"\x7f\xff\xff\xff\0\0\0\0"), 18, 2**31 - 1),
    "value beyond": (Code.FIELD_BEYOND_MESSAGE, raw_message(8, 0, 0, b"\xff\xff\xff\xff\0\0\0\1"), 22, 1),
    "largest value": (Code.FIELD_BEYOND_MESSAGE, raw_message(8, 0, 0, b"\0\0\0\0\x7f\xff\xff\xff"), 22, 2**31 - 1),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_takes_back_the_whole_set(kernels: SimpleNamespace, name: str) -> None:
    code, data, position, found = PROBLEMS[name]
    out = RecordColumns.empty(10, 1000)
    kernels.decode_messages(SOUND, 0, LENGTH, out)
    before = content(out)
    assert kernels.decode_messages(SOUND + data, 0, LENGTH + len(data), out) == (code, 0, LENGTH + position, found)
    assert content(out) == before


@pytest.mark.parametrize("left", range(12))
def test_a_message_that_is_cut_in_its_offset_or_size_ends_the_set(kernels: SimpleNamespace, left: int) -> None:
    outcome, columns = decode(kernels, SOUND + SOUND[:left])
    assert (outcome, columns["rows"]) == ((Code.DONE, 0, 0, 0), 1)
    assert decode(kernels, SOUND[:left])[0] == (Code.EMPTY_MESSAGE_SET, 0, 0, left)


def test_a_message_that_is_cut_after_its_size_ends_the_set(kernels: SimpleNamespace) -> None:
    for left in range(12, LENGTH):
        assert decode(kernels, SOUND + SOUND[:left])[1]["rows"] == 1
        assert decode(kernels, SOUND[:left])[0] == (Code.EMPTY_MESSAGE_SET, 0, 0, left)


def test_the_crc_need_not_be_checked(kernels: SimpleNamespace) -> None:
    assert decode(kernels, FLIPPED, check_crc=False)[0] == (Code.DONE, 0, 0, 0)


def test_relative_offsets_count_up_to_the_wrapper(kernels: SimpleNamespace) -> None:
    """The wrapper's offset is that of its last message; gaps left by compaction stay."""
    inner = message(0) + message(2) + message(5)
    outcome, columns = decode(kernels, inner, relative=True, wrapper_offset=105)
    assert (outcome[0], columns["offset"]) == (Code.DONE, [100, 102, 105])


def test_a_wrapper_offset_of_zero_leaves_the_inner_ones(kernels: SimpleNamespace) -> None:
    assert decode(kernels, message(3) + message(4), relative=True, wrapper_offset=0)[1]["offset"] == [3, 4]


def test_absolute_offsets_stay(kernels: SimpleNamespace) -> None:
    assert decode(kernels, message(3) + message(4), relative=False, wrapper_offset=9)[1]["offset"] == [3, 4]


def test_a_wrapper_offset_below_its_last_message_is_a_problem(kernels: SimpleNamespace) -> None:
    data = message(3) + message(4)
    assert decode(kernels, data, relative=True, wrapper_offset=3)[0] == (Code.OFFSET_BELOW_INNER, 0, len(data) // 2, 4)
    assert decode(kernels, data, relative=True, wrapper_offset=-1)[0][0] == Code.OFFSET_BELOW_INNER
    assert decode(kernels, data, relative=True, wrapper_offset=4)[1]["offset"] == [3, 4]


def test_offsets_wrap_around(kernels: SimpleNamespace) -> None:
    low, top = -(2**63), 2**63 - 1
    columns = decode(kernels, message(1) + message(low), relative=True, wrapper_offset=top)[1]
    assert columns["offset"] == [0, top]


def test_the_wrappers_time_overrules_v1_messages_alone(kernels: SimpleNamespace) -> None:
    """A v0 message has no timestamp, even inside a v1 wrapper; one of a later magic keeps its own."""
    inner = message(0, timestamp=5) + message(1, magic=0) + message(2, magic=2, timestamp=6)
    assert decode(kernels, inner)[1]["timestamp"] == [5, -1, 6]
    assert decode(kernels, inner, timestamp=777)[1]["timestamp"] == [777, -1, 6]


def test_extreme_timestamps_stay(kernels: SimpleNamespace) -> None:
    columns = decode(kernels, message(0, timestamp=-(2**63)) + message(1, timestamp=2**63 - 1))[1]
    assert columns["timestamp"] == [-(2**63), 2**63 - 1]


@pytest.mark.parametrize("magic", [0, 1])
def test_null_is_not_empty(kernels: SimpleNamespace, magic: int) -> None:
    columns = decode(kernels, message(0, None, b"", magic=magic) + message(1, b"", None, magic=magic))[1]
    assert (columns["key"], columns["value"]) == ([None, b""], [b"", None])


def test_bytes_after_the_value_are_ignored(kernels: SimpleNamespace) -> None:
    """Kafka finds key and value by their lengths and never reads the rest."""
    columns = decode(kernels, raw_message(8, 0, 0, b"\0\0\0\1k\0\0\0\1vmore"))[1]
    assert (columns["key"], columns["value"]) == ([b"k"], [b"v"])


@pytest.mark.parametrize("wanted", range(64))
def test_every_projection_gives_the_same_columns(kernels: SimpleNamespace, wanted: int) -> None:
    data = MESSAGES["v0"] + MESSAGES["v1"]
    whole = decode(kernels, data)[1]
    out = RecordColumns.empty(4, len(data), columns=Column(wanted))
    assert kernels.decode_messages(data, 0, len(data), out, wanted) == (Code.DONE, 0, 0, 0)
    assert content(out, wanted).items() <= whole.items()


@pytest.mark.parametrize("room", [(3, 1000), (10, 0), (10, len(SOUND) * 4 - 1)])
def test_full_columns_take_nothing(kernels: SimpleNamespace, room: tuple[int, int]) -> None:
    data = SOUND * 4
    out = RecordColumns.empty(*room)
    assert kernels.decode_messages(data, 0, len(data), out) == (Code.FULL, 0, 0, 0)
    assert out.rows == 0
    out.grow(4, len(data))
    assert kernels.decode_messages(data, 0, len(data), out) == (Code.DONE, 0, 0, 0)
    assert content(out)["key"] == [b"key"] * 4


@pytest.mark.parametrize(("start", "end"), [(-1, 5), (3, 2), (0, 11), (11, 11)])
def test_a_range_outside_the_data_is_refused(kernels: SimpleNamespace, start: int, end: int) -> None:
    data = bytearray(10)
    with pytest.raises(ValueError, match="not inside a buffer of 10 bytes"):
        kernels.decode_messages(data, start, end, RecordColumns.empty(1, 100))
    data.clear()  # a BufferError if the kernel still held it
