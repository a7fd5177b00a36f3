"""The leader epoch checkpoint of a partition: the offset at which each leader epoch began."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from octavo.errors import CorruptionError, EncodingError
from octavo.format.java.text import Line, parse_integer, shortened
from octavo.format.small_files import checkpoint
from octavo.kernels.integers import INT32_MAX, INT64_MAX


class EpochEntry(NamedTuple):
    """An epoch and the offset of its first record."""

    epoch: int
    start_offset: int


def decode(data: bytes) -> list[EpochEntry]:
    """The entries in file order; Kafka writes epochs and start offsets in ascending order."""
    return checkpoint.decode(data, _entry)


def encode(entries: Iterable[EpochEntry]) -> bytes:
    """The file's bytes; without entries it still holds the version and the count."""
    lines = []
    for epoch, start_offset in entries:
        if not 0 <= epoch <= INT32_MAX or not 0 <= start_offset <= INT64_MAX:
            raise EncodingError(f"epoch {epoch} or start offset {start_offset} is out of range")
        lines.append(f"{epoch} {start_offset}")
    return checkpoint.encode(lines)


def epoch_for_offset(entries: Sequence[EpochEntry], offset: int) -> int | None:
    """The epoch in which the offset was written; None before the first entry. Entries must ascend."""
    slot = bisect_right(entries, offset, key=lambda entry: entry.start_offset) - 1
    return entries[slot].epoch if slot >= 0 else None


def _entry(line: Line) -> EpochEntry:
    epoch, start_offset = checkpoint.split_line(line, 2, "epoch and start offset")
    entry = EpochEntry(parse_integer(epoch, 32, line.position), parse_integer(start_offset, 64, line.position))
    if entry.epoch < 0 or entry.start_offset < 0:
        raise CorruptionError(
            f"expected an epoch and a start offset of 0 or more, found {shortened(line.text)}", position=line.position
        )
    return entry
