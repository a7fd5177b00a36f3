"""The transaction index `.txnindex`: the aborted transactions whose marker lies in the segment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from octavo.errors import CorruptionError
from octavo.format.entry_layout import EntryLayout

if TYPE_CHECKING:
    from typing_extensions import Buffer

VERSION = 0

ENTRY = EntryLayout(
    version="int16",
    producer_id="int64",
    first_offset="int64",
    last_offset="int64",
    last_stable_offset="int64",
)


class AbortedTxn(NamedTuple):
    """An aborted transaction; `last_offset` is that of its ABORT marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int  # after the marker was appended


class TxnIndex(NamedTuple):
    """A file's content: whole entries, and the number of bytes of an incomplete one at its end (Kafka ignores them)."""

    aborted: list[AbortedTxn]
    cut_bytes: int


def decode(data: Buffer) -> TxnIndex:
    """The entries in file order; Kafka appends them with ascending last offsets."""
    aborted = []
    for slot, (version, *fields) in enumerate(ENTRY.view(data).tolist()):
        # Kafka checks only the first of the two bytes, as a signed number: versions 1 to 255 pass, and so do negative
        # ones.
        if version >> 8 > VERSION:
            raise CorruptionError(
                f"transaction index entry of version {version >> 8}, expected {VERSION}", position=slot * ENTRY.size
            )
        aborted.append(AbortedTxn(*fields))
    return TxnIndex(aborted, memoryview(data).nbytes % ENTRY.size)


def encode(aborted: Iterable[AbortedTxn]) -> bytes:
    return b"".join(ENTRY.pack(VERSION, *txn) for txn in aborted)


def sanity_check(aborted: Sequence[AbortedTxn], base_offset: int) -> None:
    """Kafka's check when it loads a segment: no transaction may end before the segment begins."""
    for slot, txn in enumerate(aborted):
        if txn.last_offset < base_offset:
            raise CorruptionError(
                f"aborted transaction of producer {txn.producer_id} ends at offset {txn.last_offset}, "
                f"expected {base_offset} (the base offset) or more",
                position=slot * ENTRY.size,
            )


def search(aborted: Iterable[AbortedTxn], fetch_offset: int, upper_bound_offset: int) -> list[AbortedTxn]:
    """The transactions that overlap the offsets from `fetch_offset` up to, but not including, the upper bound.

    `aborted` comes from the index of one segment or of several in a row, and is read only as far as needed.
    """
    found = []
    for txn in aborted:
        if txn.last_offset >= fetch_offset and txn.first_offset < upper_bound_offset:
            found.append(txn)
        if txn.last_stable_offset >= upper_bound_offset:
            break
    return found
