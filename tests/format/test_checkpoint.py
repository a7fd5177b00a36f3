"""Text checkpoints: Kafka's text, and every line that is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import CorruptionError, EncodingError
from octavo.format.names import TopicPartition
from octavo.format.small_files import checkpoint

KAFKA = b"0\n2\na 0 5\nb.c 11 77\n"
OFFSETS = {TopicPartition("a", 0): 5, TopicPartition("b.c", 11): 77}


def test_the_text_is_kafkas() -> None:
    assert checkpoint.decode_offsets(KAFKA) == OFFSETS
    assert checkpoint.encode_offsets(OFFSETS) == KAFKA
    assert checkpoint.encode_offsets({}) == b"0\n0\n"


@pytest.mark.parametrize("data", [b"", b"0", b"0\n", b"0\n0", b"0\n0\n", b"0\r\n0\r\n"])
def test_files_without_entries_are_read(data: bytes) -> None:
    assert checkpoint.decode_offsets(data) == {}


@pytest.mark.parametrize("data", [KAFKA[:-1], KAFKA.replace(b"\n", b"\r\n"), b"+0\n02\na\t0  5 \nb.c 11 77"])
def test_text_that_kafka_reads_but_never_writes_is_read(data: bytes) -> None:
    assert checkpoint.decode_offsets(data) == OFFSETS


def test_the_later_of_two_lines_counts() -> None:
    assert checkpoint.decode_offsets(b"0\n2\na 0 5\na 0 4\n") == {TopicPartition("a", 0): 4}


@pytest.mark.parametrize(
    ("data", "problem", "position"),
    [
        (b"1\n0\n", "checkpoint of version 1, expected 0", 0),
        (b"-1\n0\n", "checkpoint of version -1, expected 0", 0),
        (b"\n0\n", "expected a whole number, found ''", 0),
        (b" 0\n0\n", "expected a whole number, found ' 0'", 0),
        (b"0 \n0\n", "expected a whole number, found '0 '", 0),
        (b"0\nx\n", "expected a whole number, found 'x'", 2),
        (b"0\n2147483648\n", "expected a number that fits in 32 bits", 2),
        (b"0\n-1\n", "announces -1 entries, but 0 follow", 2),
        (b"0\n1\n", "announces 1 entry, but 0 follow", 2),
        (b"0\n2147483647\na 0 5\n", "announces 2147483647 entries, but 1 follows", 2),
        (b"0\n0\na 0 5\n", "announces 0 entries, but 1 follows", 2),
        (b"0\n1\na 0 5\n\n", "expected a line of topic, partition and offset, found ''", 10),
        (b"0\n1\na 0\n", "expected a line of topic, partition and offset, found 'a 0'", 4),
        (b"0\n1\na 0 5 6\n", "expected a line of topic, partition and offset", 4),
        (b"0\n1\n a 0 5\n", "expected a line of topic, partition and offset", 4),
        (b"0\n1\n 0 5\n", "begins with a blank", 4),
        (b"0\n1\na x 5\n", "expected a whole number, found 'x'", 4),
        (b"0\n1\na 2147483648 5\n", "expected a number that fits in 32 bits", 4),
        (b"0\n1\na 0 9223372036854775808\n", "expected a number that fits in 64 bits", 4),
        (b"0\n1\n\xff 0 5\n", "expected UTF-8 text", 4),
        (bytes(20), "expected a whole number", 0),
    ],
)
def test_wrong_text_is_refused(data: bytes, problem: str, position: int) -> None:
    with pytest.raises(CorruptionError, match=problem) as raised:
        checkpoint.decode_offsets(data)
    assert raised.value.position == position


@pytest.mark.parametrize(
    ("topic", "partition", "offset"), [("a b", 0, 0), ("", 0, 0), ("a", -1, 0), ("a", 2**31, 0), ("a", 0, 2**63)]
)
def test_entries_that_cannot_be_written_are_refused(topic: str, partition: int, offset: int) -> None:
    with pytest.raises(EncodingError):
        checkpoint.encode_offsets({TopicPartition(topic, partition): offset})


def test_entries_may_have_another_form() -> None:
    data = checkpoint.encode(["x 1", "y 2"])
    assert data == b"0\n2\nx 1\ny 2\n"
    assert checkpoint.decode(data, lambda line: line.text) == ["x 1", "y 2"]


TOPICS = st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True)
PARTITIONS = st.builds(TopicPartition, TOPICS, st.integers(0, 2**31 - 1))


@given(st.dictionaries(PARTITIONS, st.integers(-(2**63), 2**63 - 1)))
def test_round_trip(offsets: dict[TopicPartition, int]) -> None:
    assert checkpoint.decode_offsets(checkpoint.encode_offsets(offsets)) == offsets
