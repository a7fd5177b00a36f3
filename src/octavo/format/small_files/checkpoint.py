"""Text checkpoints: a version, a count, and that many lines, most often with one offset per partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from octavo.errors import CorruptionError, EncodingError
from octavo.format.java.text import Line, lines, parse_integer, shortened, split
from octavo.format.names import TopicPartition, check_topic
from octavo.kernels.integers import INT32_MAX, INT64_MAX

VERSION = 0

_Entry = TypeVar("_Entry")


def decode(data: bytes, parse: Callable[[Line], _Entry]) -> list[_Entry]:
    """The entries, each parsed from its line. A file that is empty or has only a version has no entries."""
    content = lines(data)
    if content:
        version = parse_integer(content[0].text, 32, content[0].position)
        if version != VERSION:
            raise CorruptionError(f"checkpoint of version {version}, expected {VERSION}", position=0)
    if len(content) < 2:
        return []
    count = parse_integer(content[1].text, 32, content[1].position)
    entries = [parse(line) for line in content[2:]]
    if count != len(entries):
        raise CorruptionError(
            f"checkpoint announces {count} {'entry' if count == 1 else 'entries'}, "
            f"but {len(entries)} {'follows' if len(entries) == 1 else 'follow'}",
            position=content[1].position,
        )
    return entries


def encode(entries: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in (VERSION, len(entries), *entries)).encode("utf-8")


def split_line(line: Line, count: int, meaning: str) -> list[str]:
    """The fields of an entry, separated by blanks; there must be `count` of them."""
    fields = split(line.text)
    if len(fields) != count:
        raise CorruptionError(f"expected a line of {meaning}, found {shortened(line.text)}", position=line.position)
    return fields


def decode_offsets(data: bytes) -> dict[TopicPartition, int]:
    """An offset for each partition, in file order. If a partition occurs twice, the later line counts."""
    return dict(decode(data, _partition_offset))


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """The file's bytes, in the mapping's order."""
    entries = []
    for (topic, partition), offset in offsets.items():
        check_topic(topic)
        if not 0 <= partition <= INT32_MAX or not -INT64_MAX - 1 <= offset <= INT64_MAX:
            raise EncodingError(f"topic {topic}: partition {partition} or offset {offset} is out of range")
        entries.append(f"{topic} {partition} {offset}")
    return encode(entries)


def _partition_offset(line: Line) -> tuple[TopicPartition, int]:
    topic, partition, offset = split_line(line, 3, "topic, partition and offset")
    if not topic:
        raise CorruptionError(f"line {shortened(line.text)} begins with a blank", position=line.position)
    return TopicPartition(topic, parse_integer(partition, 32, line.position)), parse_integer(offset, 64, line.position)
