"""The order in which Java's HashMap and HashSet list their keys: some of Kafka's decisions depend on it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection
from typing import TypeVar

Key = TypeVar("Key")

_LEAST_BUCKETS = 16


def in_map_order(keys: Collection[Key], hash_of: Callable[[Key], int]) -> list[Key]:
    """Keys by their buckets; those in the same bucket stay in the order in which they were added."""
    buckets = _LEAST_BUCKETS
    while len(keys) > buckets * 3 // 4:
        buckets *= 2

    def bucket(key: Key) -> int:
        hashed = hash_of(key) & 0xFFFF_FFFF
        return (hashed ^ hashed >> 16) & (buckets - 1)

    return sorted(keys, key=bucket)


def id_hash(topic_id: bytes) -> int:
    """The hash code of Kafka's Uuid, computed like that of java.util.UUID."""
    high, low = struct.unpack(">QQ", topic_id)
    mixed: int = high ^ low
    return mixed >> 32 ^ mixed & 0xFFFF_FFFF
