"""`partition.metadata` in a partition's folder: its topic's id."""

from __future__ import annotations

import re
from typing import NamedTuple

from octavo.errors import CorruptionError, EncodingError
from octavo.format import kafka_uuid
from octavo.format.java.text import Line, lines, parse_integer, shortened, split
from octavo.kernels.integers import INT32_MAX

VERSION = 0

_SEPARATOR = re.compile(r":[ \t\n\x0b\f\r]+")


class PartitionMetadata(NamedTuple):
    """The topic's uuid. Any version from 0 on is accepted, so that a newer broker's file survives a downgrade."""

    topic_id: bytes
    version: int = VERSION


def decode(data: bytes) -> PartitionMetadata:
    """Decode two lines with a name and a value each. Kafka reads only the values, and no line after the second."""
    content = lines(data)
    if len(content) < 2:
        raise CorruptionError(f"expected two lines, found {len(content)}", position=len(data))
    version = parse_integer(_value(content[0]), 32, content[0].position)
    if version < VERSION:
        raise CorruptionError(f"partition.metadata of version {version}, expected {VERSION} or more", position=0)
    topic_id = kafka_uuid.from_text(_value(content[1]), content[1].position)
    if topic_id == kafka_uuid.ZERO_UUID:
        raise CorruptionError("the topic id is zero, expected a topic's uuid", position=content[1].position)
    return PartitionMetadata(topic_id, version)


def encode(metadata: PartitionMetadata) -> bytes:
    """The file's bytes, without a line break at the end."""
    if metadata.topic_id == kafka_uuid.ZERO_UUID:
        raise EncodingError("the topic id is zero: no topic has it")
    if not VERSION <= metadata.version <= INT32_MAX:
        raise EncodingError(f"version {metadata.version} is not in the range {VERSION} to {INT32_MAX}")
    return f"version: {metadata.version}\ntopic_id: {kafka_uuid.to_text(metadata.topic_id)}".encode("ascii")


def _value(line: Line) -> str:
    fields = split(line.text, _SEPARATOR)
    if len(fields) != 2:
        raise CorruptionError(f"expected '<name>: <value>', found {shortened(line.text)}", position=line.position)
    return fields[1]
