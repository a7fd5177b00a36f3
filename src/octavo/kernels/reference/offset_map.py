"""The offset table of a compaction, in plain Python. Its slots lie as in the compiled one, except perhaps after it has
grown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo.kernels.columns import RecordColumns
from octavo.kernels.integers import signed32
from octavo.kernels.layout import Code, Column, Outcome
from octavo.kernels.offset_table import MAX_SLOTS, SLOT_BYTES, TABLE_STATE, KeyHash, OffsetTable
from octavo.kernels.reference.columns import check_columns, value_at
from octavo.kernels.reference.decode import decode_records
from octavo.kernels.reference.key_hash import hash_key

if TYPE_CHECKING:
    from typing_extensions import Buffer

_HASH_BYTES = 16
_LAST_PROBE = 12
_GROWTH = 4
_EMPTY = bytes(_HASH_BYTES)


class OffsetLookup:
    """One table, as seen by a running kernel."""

    def __init__(self, table: OffsetTable) -> None:
        room = min(len(table.slots) // SLOT_BYTES, MAX_SLOTS)
        if len(table.state) != len(TABLE_STATE) or not 0 < table.slot_count <= table.most_slots <= room:
            found = "an offset table needs aligned memory for one slot or more"
            raise ValueError(f"{found}: make it with OffsetTable.empty")
        self.table = table
        self._hash, self._key0, self._key1 = (int(number) for number in table.state[:3])
        self._byte_order = "big" if self._hash == KeyHash.MD5 else sys.byteorder

    def put(self, key: memoryview, offset: int) -> bool:
        """Set the key's offset; False if the table is full, even if the key is in it, as in Kafka."""
        table, digest = self.table, self._digest(key)
        is_crowded = 3 * table.size >= 2 * table.slot_count
        if is_crowded and table.size < table.capacity and table.slot_count < table.most_slots:
            self._grow()
        slot = self._find(digest) if table.size < table.capacity else None
        if slot is None:
            return False
        if table.slots[slot : slot + _HASH_BYTES].tobytes() != digest:
            table.slots[slot : slot + _HASH_BYTES] = np.frombuffer(digest, np.uint8)
            table.size += 1
        stored = offset.to_bytes(8, self._byte_order, signed=True)
        table.slots[slot + _HASH_BYTES : slot + SLOT_BYTES] = np.frombuffer(stored, np.uint8)
        self.mark(table.superseded, offset)
        table.latest_offset = offset
        return True

    def settle_marks(self) -> None:
        """Remove the marks of each key's last offset."""
        table = self.table
        for slot in range(0, table.slot_count * SLOT_BYTES, SLOT_BYTES):
            if table.slots[slot : slot + _HASH_BYTES].any():
                place = self._offset_in(slot) - table.marks_from
                if 0 <= place < table.marking:
                    table.superseded[place >> 3] &= ~np.uint8(1 << (place & 7))
        table.marks = table.marking

    def get(self, key: memoryview) -> int:
        """The key's offset; -1 if it has none."""
        digest = self._digest(key)
        slot = self._find(digest)
        if slot is None:
            return -1
        found = self.table.slots[slot : slot + _HASH_BYTES].tobytes() == digest
        return self._offset_in(slot) if found else -1

    def mark(self, bits: NDArray[np.uint8], offset: int) -> None:
        """Set an offset's bit, if it has one."""
        place = offset - self.table.marks_from
        if 0 <= place < self.table.marking:
            bits[place >> 3] |= np.uint8(1 << (place & 7))

    def _offset_in(self, slot: int) -> int:
        stored = self.table.slots[slot + _HASH_BYTES : slot + SLOT_BYTES].tobytes()
        return int.from_bytes(stored, self._byte_order, signed=True)

    def _grow(self) -> None:
        """Spread the keys over more slots."""
        table = self.table
        used = table.slots[: table.slot_count * SLOT_BYTES].reshape(-1, SLOT_BYTES)
        moved = used[used[:, :_HASH_BYTES].any(axis=1)].copy()
        used[:] = 0
        slots = _GROWTH * table.slot_count
        table.slot_count = table.most_slots if 2 * slots > table.most_slots else slots
        for entry in moved:
            slot = self._find(entry[:_HASH_BYTES].tobytes())
            assert slot is not None
            table.slots[slot : slot + SLOT_BYTES] = entry

    def _digest(self, key: memoryview) -> bytes:
        return hash_key(self._hash, key, self._key0, self._key1)

    def _find(self, digest: bytes) -> int | None:
        for slot in self._probes(digest):
            at = slot * SLOT_BYTES
            found = self.table.slots[at : at + SLOT_BYTES].tobytes()
            if found[:_HASH_BYTES] == digest:
                return at
            if not any(found) or (self._hash == KeyHash.SIPHASH and found[:_HASH_BYTES] == _EMPTY):
                return at
        return None

    def _probes(self, digest: bytes) -> Iterator[int]:
        """The slots where a key may be: Kafka's sequence for MD5, otherwise slot by slot."""
        slots = self.table.slot_count
        first = int.from_bytes(digest[:8], "little") * slots >> 64
        for attempt in range(slots + _LAST_PROBE):
            if self._hash != KeyHash.MD5:
                yield (first + attempt) % slots
                continue
            at = min(attempt, _LAST_PROBE)
            number = signed32(int.from_bytes(digest[at : at + 4]) + attempt - at)
            yield 0 if number == -(2**31) else abs(number) % slots


def map_batches(
    offset_table: OffsetTable,
    data: Buffer,
    table: NDArray[np.void],
    skipped: NDArray[np.uint8],
    first_offset: int,
    starts: NDArray[np.int64] | None = None,
    ends: NDArray[np.int64] | None = None,
) -> Outcome:
    """Put the keys of v2 batches into the table, with their records' offsets, from `first_offset` on.

    For batches marked in `skipped` (one byte each), only the last offset is recorded. `starts` and `ends` are as in
    `decode_records`. Returns an `Outcome`; FULL: no more keys fit, and the table's latest offset says how far it got.
    """
    lookup = OffsetLookup(offset_table)
    count = min(len(table), len(skipped))
    if starts is not None and ends is not None:
        count = min(count, len(starts), len(ends))
    for row in range(count):
        batch = table[row]
        if not skipped[row]:
            area = int(batch["size"]) if starts is None or ends is None else int(ends[row] - starts[row])
            wanted = Column.OFFSET | Column.KEY | Column.VALUE
            columns = RecordColumns.empty(max(int(batch["count"]), 0), max(area, 0), columns=wanted)
            one = slice(row, row + 1)
            span = (None, None) if starts is None or ends is None else (starts[one], ends[one])
            code, _, position, found = decode_records(data, table[one], 0, columns, wanted, *span)
            if code != Code.DONE:
                return code, row, position, found
            for record in range(columns.rows):
                if value_at(columns.key, record) is None or value_at(columns.value, record) is None:
                    lookup.mark(offset_table.odd, int(columns.offset[record]))
            if _put_rows(lookup, columns, first_offset) < columns.rows:
                return Code.FULL, row, 0, 0
        last_offset = int(batch["base_offset"]) + int(batch["last_offset_delta"])
        if skipped[row]:  # marks at both ends of a batch mean that there are none inside
            lookup.mark(offset_table.odd, int(batch["base_offset"]))
            lookup.mark(offset_table.odd, last_offset)
        if last_offset >= first_offset:
            offset_table.latest_offset = last_offset
    return Code.DONE, count, 0, 0


def map_columns(offset_table: OffsetTable, columns: RecordColumns, first_offset: int) -> int:
    """Put the keys of rows into the table, with their offsets, from `first_offset` on; returns how many rows are done.

    If that is not all of them, no more keys fit.
    """
    check_columns(columns, 0, columns.rows)
    return _put_rows(OffsetLookup(offset_table), columns, first_offset)


def find_offsets(offset_table: OffsetTable, columns: RecordColumns, out: NDArray[np.int64]) -> None:
    """Write the table's offset for each row's key to `out` (int64), -1 if the key is null or not in the table."""
    check_columns(columns, 0, columns.rows)
    if len(out) < columns.rows:
        raise ValueError(f"room for {len(out)} offsets, expected {columns.rows}")
    lookup = OffsetLookup(offset_table)
    for row in range(columns.rows):
        key = value_at(columns.key, row)
        out[row] = -1 if key is None else lookup.get(key)


def settle_marks(offset_table: OffsetTable) -> None:
    """Keep only the marks of superseded records by removing those of each key's last offset. Put no keys afterwards."""
    OffsetLookup(offset_table).settle_marks()


def _put_rows(lookup: OffsetLookup, columns: RecordColumns, first_offset: int) -> int:
    for row in range(columns.rows):
        key, offset = value_at(columns.key, row), int(columns.offset[row])
        if key is not None and offset >= first_offset and not lookup.put(key, offset):
            return row
    return columns.rows
