"""XXH3 equals the hash of the library that Kafka 4.3.1 uses (hash4j 0.22)."""

from __future__ import annotations

import pytest

from octavo.coordinator.groups.consumer.topics import GroupTopic
from octavo.format.xxh3 import xxh3_64


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (0, 3244421341483603138),
        (1, -2220562881957146901),
        (3, 6666321793830475030),
        (4, 2616370236846142754),
        (8, -7580517331561883735),
        (9, 5152637198995674261),
        (16, -7981552096505747545),
        (17, 3167990320673986461),
        (64, 1407486294599942051),
        (128, -4307239528691637617),
        (129, -8920706652127818958),
        (200, 8129684616570941470),
        (240, 4326755725039977377),
        (241, -4614182663436096113),
        (500, -2060031530481675491),
        (1024, -6012812493729324958),
        (1025, -4010797056655636473),
        (3000, -5817405240534812356),
    ],
)
def test_hashes_are_those_of_hash4j(length: int, expected: int) -> None:
    assert xxh3_64(bytes((number * 7 + 1) & 0xFF for number in range(length))) == expected


def test_a_topic_is_hashed_as_java_writes_it() -> None:
    """A zero byte, two longs, a text with its length after it, and the number of partitions, here 0."""
    topic = GroupTopic("topic", (1).to_bytes(8) + (2).to_bytes(8), ())
    data = b"\0" + (1).to_bytes(8, "little") + (2).to_bytes(8, "little")
    data += "topic".encode("utf-16-le") + (5).to_bytes(4, "little") + (0).to_bytes(4, "little")
    assert topic.hash == xxh3_64(data)
    # What hash4j gives for the same fields, but with 3 instead of 0.
    assert xxh3_64(data[:-4] + (3).to_bytes(4, "little")) == 5827282860851806312
