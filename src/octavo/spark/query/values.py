"""Parses the values of options: numbers, booleans, durations, addresses and JSON, often with Spark's error messages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from octavo.errors import ConfigError, did_you_mean
from octavo.format.names import TopicPartition

PartitionOffsets = dict[TopicPartition, int]
_Value = TypeVar("_Value")

_INTEGER = re.compile(r"[+-]?[0-9]+")
_ADDRESS = re.compile(r"(?:\[([0-9a-fA-F:.%]+)\]|([0-9a-zA-Z._-]+)):([0-9]{1,5})")
_DURATION = re.compile(r"(-?[0-9]+)([a-z]+)?")
_MICROSECONDS = {
    "us": 1,
    "ms": 1000,
    "s": 10**6,
    "m": 60 * 10**6,
    "min": 60 * 10**6,
    "h": 3600 * 10**6,
    "d": 86_400 * 10**6,
}
_OFFSETS = '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}'
_TIMESTAMPS = '{"topicA": {"0": 123456789, "1": 123456789}, "topicB": {"0": 123456789, "1": 123456789}}'
MOST = 1_000_000
INT32, INT64 = range(-(1 << 31), 1 << 31), range(-(1 << 63), 1 << 63)


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def given(parse: Callable[[str, str], _Value], name: str, options: Mapping[str, str]) -> _Value | None:
    """The value of an option; None if it is not set."""
    return parse(name, options[name]) if name in options else None


def integer(name: str, text: str, numbers: range = INT64) -> int:
    """A whole number that fits 64 bits, or `numbers` if given. As in Java, spaces are refused."""
    found = int(text) if _INTEGER.fullmatch(text) else None
    if found is None or found not in numbers:
        limits = "" if found is None else f" from {numbers[0]} to {numbers[-1]}"
        raise ConfigError(f'{name}: For input string: "{text}", expected a whole number{limits}')
    return found


def positive(name: str, text: str, numbers: range = INT64) -> int:
    """A whole number above 0."""
    number = integer(name, text, numbers)
    if number <= 0:
        raise ConfigError(f"{name} must be positive, but is {number}")
    return number


def count(name: str, text: str, what: str) -> int:
    """A whole number above 0, with an upper limit, for things that are created one by one."""
    number = positive(name, text, INT32)
    if number > MOST:
        raise ConfigError(f"{name} is {number}, expected at most {MOST} {what}")
    return number


def boolean(name: str, text: str) -> bool:
    """true or false, in upper or lower case."""
    known = {"true": True, "false": False}.get(text.lower())
    if known is None:
        raise ConfigError(f'{name}: For input string: "{text}", expected true or false')
    return known


def duration_ms(name: str, text: str) -> int:
    """A duration as Spark writes it: 15m, 30s, 500ms; a plain number means milliseconds."""
    match = _DURATION.fullmatch(text.strip().lower())
    unit = None if match is None else _MICROSECONDS.get(match[2] or "ms")
    if match is None or unit is None:
        expected = "expected a number with s, m or min, h, d, ms, us, as in 50s, 100ms or 250us"
        raise ConfigError(f"{name}: Failed to parse time string: {text}, {expected}")
    return int(match[1]) * unit // 1000


def wait_ms(name: str, text: str) -> int:
    """A non-negative duration."""
    duration = duration_ms(name, text)
    if duration < 0:
        raise ConfigError(f"{name} is {text}, expected 0s or more")
    return duration


def addresses(name: str, text: str) -> tuple[Address, ...]:
    """Addresses in the form `host:port,[ipv6]:port`."""
    found = [_ADDRESS.fullmatch(part.strip()) for part in text.split(",") if part.strip()]
    parsed = [Address(match[1] or match[2], int(match[3])) for match in found if match is not None]
    if not found or len(parsed) < len(found) or not all(0 < address.port < 1 << 16 for address in parsed):
        raise ConfigError(f"{name}: expected host:port, or several separated by commas, got {text!r}")
    return tuple(parsed)


def partitions(name: str, text: str) -> frozenset[TopicPartition]:
    """Partitions in the form `{"topicA":[0,1]}`."""
    wanted: set[TopicPartition] = set()
    try:
        for topic, numbers in json.loads(text).items():
            wanted.update(TopicPartition(topic, _int(number)) for number in _list(numbers))
    except (ValueError, AttributeError):
        raise ConfigError(f'{name}: Expected e.g. {{"topicA":[0,1],"topicB":[0,1]}}, got {text}') from None
    return frozenset(wanted)


def offsets(name: str, text: str, names: Iterable[str] = (), example: str = _OFFSETS) -> PartitionOffsets:
    """Offsets in the form of the example. `names` are the words that the option also accepts."""
    try:
        return from_nested(json.loads(text))
    except (ValueError, AttributeError):
        raise ConfigError(f"{name}: Expected e.g. {example}, got {text}{did_you_mean(text, names)}") from None


def timestamps(name: str, text: str) -> PartitionOffsets:
    """Timestamps in the same form as offsets, in milliseconds."""
    return offsets(name, text, example=_TIMESTAMPS)


def from_nested(nested: Mapping[str, Mapping[str, int]]) -> PartitionOffsets:
    """Offsets from the nested form used in options and checkpoints."""
    return {
        TopicPartition(topic, int(number)): _int(offset)
        for topic, numbers in nested.items()
        for number, offset in numbers.items()
    }


def to_nested(flat: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """The nested form, sorted, because Spark compares offsets as text."""
    nested: dict[str, dict[str, int]] = {}
    for topic, number in sorted(flat):
        nested.setdefault(topic, {})[str(number)] = flat[TopicPartition(topic, number)]
    return nested


def listed(partitions: Iterable[TopicPartition]) -> str:
    """Partitions as named in messages."""
    return ", ".join(f"{topic}-{partition}" for topic, partition in sorted(partitions))


def _int(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value not in INT64:
        raise ValueError(value)
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(value)
    return value
