"""Which partition of an internal topic holds an id: the rule by which coordinators are found."""

from __future__ import annotations

from octavo.errors import EncodingError

DEFAULT_PARTITIONS = 50
"""The default for `__consumer_offsets`, `__transaction_state` and `__share_group_state`."""


def coordinator_partition(coordinator_id: str, partitions: int = DEFAULT_PARTITIONS) -> int:
    """The partition for a group id, a transactional id or a share partition's id."""
    if partitions < 1:
        raise EncodingError(f"a topic has at least one partition, not {partitions}")
    hashed = java_hash(coordinator_id)
    return (0 if hashed == -(1 << 31) else abs(hashed)) % partitions


def java_hash(text: str) -> int:
    """Java's `String.hashCode`: over UTF-16 code units, wrapping at 32 bits."""
    units = memoryview(text.encode("utf-16-le", "surrogatepass"))
    hashed = 0
    for low, high in zip(units[::2], units[1::2], strict=True):
        hashed = 31 * hashed + (high << 8 | low) & 0xFFFF_FFFF
    return hashed - (1 << 32) if hashed >= 1 << 31 else hashed
