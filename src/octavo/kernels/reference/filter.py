"""Compaction's filter, in plain Python: decodes batches to columns, decides about each row, encodes what survives."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.kernels import layout
from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import Code, Column, Outcome
from octavo.kernels.offset_table import FILTER_STATE, BatchVerdict, Fate, FilterRun, OffsetTable
from octavo.kernels.reference.columns import value_at
from octavo.kernels.reference.decode import decode_records
from octavo.kernels.reference.encode import encode_batches
from octavo.kernels.reference.offset_map import OffsetLookup

if TYPE_CHECKING:
    from typing_extensions import Buffer

_KEPT_ATTRIBUTES = layout.LOG_APPEND_TIME | layout.TRANSACTIONAL | layout.CONTROL


class _Judged(NamedTuple):
    kept: list[int]
    has_tombstones: bool


_NOTHING = _Judged([], False)


def foresee_fates(
    offset_table: OffsetTable, table: NDArray[np.void], verdicts: NDArray[np.uint8], fates: NDArray[np.int8]
) -> None:
    """Write to `fates` (int8) the fate of each v2 batch if it is known without the records, otherwise -1."""
    if min(len(verdicts), len(fates)) < len(table):
        raise ValueError("a verdict and a fate are needed for each batch")
    for row, batch in enumerate(table):
        fates[row] = _foreseen(offset_table, batch, int(verdicts[row]))


def _foreseen(offset_table: OffsetTable, batch: np.void, verdict: int) -> int:
    gone = Fate.EMPTIED if verdict & BatchVerdict.RETAIN_EMPTY else Fate.GONE
    if verdict & BatchVerdict.DISCARD_RECORDS or batch["count"] == 0:
        return gone
    if batch["count"] < 0 or not _is_marked(offset_table, batch):
        return -1
    first = int(batch["base_offset"]) - offset_table.marks_from
    places = np.arange(first, first + int(batch["last_offset_delta"]) + 1)
    odd, superseded = (
        int((bits[places >> 3] >> (places & 7).astype(np.uint8) & 1).sum(dtype=np.int64))
        for bits in (offset_table.odd, offset_table.superseded)
    )
    if odd:
        return -1
    if superseded == 0 and batch["count"] <= batch["last_offset_delta"] + 1:
        return Fate.WHOLE
    return gone if superseded == batch["count"] else -1


def _is_marked(offset_table: OffsetTable, batch: np.void) -> bool:
    """Whether the marks show which of the batch's records are superseded.

    They do not if its keys were not put into the table: such a batch is marked odd at both ends. (So are some other
    batches; looking up their keys does no harm.)
    """
    base, delta = int(batch["base_offset"]), int(batch["last_offset_delta"])
    first, is_known = base - offset_table.marks_from, base + delta <= offset_table.latest_offset
    if batch["attributes"] & layout.CONTROL or not is_known:
        return False
    if first < 0 or delta < 0 or first + delta >= offset_table.marks:
        return False
    return not all(_has_mark(offset_table, offset_table.odd, offset) for offset in (base, base + delta))


def _has_mark(offset_table: OffsetTable, bits: NDArray[np.uint8], offset: int) -> bool:
    place = offset - offset_table.marks_from
    return bool(bits[place >> 3] >> np.uint8(place & 7) & 1)


def filter_batches(
    offset_table: OffsetTable,
    run: FilterRun,
    data: Buffer,
    table: NDArray[np.void],
    verdicts: NDArray[np.uint8],
    fates: NDArray[np.uint8],
    unpacked: Buffer | None = None,
    starts: NDArray[np.int64] | None = None,
    ends: NDArray[np.int64] | None = None,
) -> Outcome:
    """Append the surviving parts of v2 batches to the run, and write to `fates` (one byte each) what happened to them.

    `verdicts` (one byte each) are `BatchVerdict`s. Records that were compressed lie in `unpacked` between `starts` and
    `ends`; if such a batch is rebuilt, it is written uncompressed, and the caller compresses it and writes its header.
    Returns an `Outcome`; FULL: the run has no room for the returned batch. Whatever the code, the batches before it are
    done.
    """
    if (unpacked is None) != (starts is None) or (starts is None) != (ends is None):
        raise ValueError("unpacked, starts and ends must be given together")
    if len(run.state) != len(FILTER_STATE):
        raise ValueError(f"the run's state has {len(run.state)} values, expected {len(FILTER_STATE)}")
    view, lookup = memoryview(data).cast("B"), OffsetLookup(offset_table)
    records = view if unpacked is None else memoryview(unpacked).cast("B")
    if starts is None or ends is None:
        starts, ends = table["position"] + layout.BATCH_OVERHEAD, table["position"] + table["size"]
    rows = min(len(table), len(verdicts), len(fates), len(starts), len(ends))
    for row in range(rows):
        position, size = int(table[row]["position"]), int(table[row]["size"])
        inside = size >= layout.BATCH_OVERHEAD and 0 <= position <= len(view) - size
        if not inside or not 0 <= starts[row] <= ends[row] <= len(records):
            raise ValueError(f"batch {row} does not lie inside its buffer")
    for row in range(rows):
        batch, verdict, columns = table[row], int(verdicts[row]), RecordColumns.empty(0, 0)
        area, one = int(ends[row] - starts[row]), slice(row, row + 1)
        needed, foreseen = layout.BATCH_OVERHEAD + area, _foreseen(offset_table, batch, verdict)
        if foreseen < 0:
            room = min(max(int(batch["count"]), 0), area)
            columns = RecordColumns.empty(room, area, area // 2, area)
            code, _, position, found = decode_records(
                records, table[one], 0, columns, Column.ALL, starts[one], ends[one]
            )
            if code != Code.DONE:
                return code, row, position, found
            needed += int(batch["count"]) * layout.MAX_RECORD_GROWTH
        needed = max(needed, int(batch["size"]))
        if run.batches >= len(run.table) or needed > len(run.out) - run.end_position or needed > layout.MAX_FILE_BYTES:
            return Code.FULL, row, 0, 0
        if foreseen < 0:
            judged = _judge(lookup, run, batch, columns)
        else:
            judged = _Judged(list(range(int(batch["count"]))), False) if foreseen == Fate.WHOLE else _NOTHING
            read = 0 if verdict & BatchVerdict.DISCARD_RECORDS else int(batch["count"])
            _count(run, read, len(judged.kept), 0)
        fates[row] = _settle(run, view, batch, verdict, columns, judged)
    return Code.DONE, rows, 0, 0


def _judge(lookup: OffsetLookup, run: FilterRun, batch: np.void, columns: RecordColumns) -> _Judged:
    """Decide which records of a batch stay. Control records stay, and so do records beyond the map's last offset.

    Any other record without a key is removed, and so is one whose key has a later offset in the map. A tombstone is
    removed once the delete horizon in its batch's header has passed; the first cleaning that keeps it sets that horizon
    (`_settle`).
    """
    horizon = int(batch["base_timestamp"]) if batch["attributes"] & layout.DELETE_HORIZON else None
    keeps_tombstones = horizon is None or run.now_ms < horizon
    kept, has_tombstones, without_key = [], False, 0
    marked = _is_marked(lookup.table, batch)
    for row in range(columns.rows):
        offset, key, value = int(columns.offset[row]), value_at(columns.key, row), value_at(columns.value, row)
        if batch["attributes"] & layout.CONTROL or offset > lookup.table.latest_offset:
            keep = True
        elif key is None:
            keep = False
            without_key += 1
        elif value is None and not keeps_tombstones:
            keep = False
        else:
            keep = not _has_mark(lookup.table, lookup.table.superseded, offset) if marked else offset >= lookup.get(key)
        if keep:
            kept.append(row)
            has_tombstones |= value is None
    _count(run, columns.rows, len(kept), without_key)
    return _Judged(kept, has_tombstones)


def _count(run: FilterRun, read: int, kept: int, without_key: int) -> None:
    run.records_read += read
    run.records_kept += kept
    run.records_without_key += without_key


def _settle(
    run: FilterRun, view: memoryview, batch: np.void, verdict: int, columns: RecordColumns, judged: _Judged
) -> Fate:
    """Write what survives of a batch, if anything."""
    if not judged.kept and not verdict & BatchVerdict.RETAIN_EMPTY:
        return Fate.GONE
    at, row = run.end_position, run.table[run.batches : run.batches + 1]
    row[0] = batch
    row["position"] = at
    has_horizon = bool(batch["attributes"] & layout.DELETE_HORIZON)
    needs_horizon = (judged.has_tombstones or bool(verdict & BatchVerdict.MARKER_OF_NOTHING)) and not has_horizon
    if not judged.kept:
        fate, columns = Fate.EMPTIED, RecordColumns.empty(0, 0)
        row["attributes"] &= _KEPT_ATTRIBUTES
        row["base_timestamp"], row["count"] = layout.NO_TIMESTAMP, 0
        encode_batches(columns, 0, row, run.out, at)  # type: ignore[arg-type]
    elif len(judged.kept) == batch["count"] and not needs_horizon:
        fate, start = Fate.WHOLE, int(batch["position"])
        run.out[at : at + int(batch["size"])] = np.frombuffer(view[start : start + int(batch["size"])], np.uint8)
    else:
        fate = Fate.REBUILT
        stays = columns.taken(np.array(judged.kept, np.intp))
        _restamp(row, stays, has_horizon, run.delete_horizon_ms if needs_horizon else None)
        encode_batches(stays, 0, row, run.out, at)  # type: ignore[arg-type]
    run.end_position += int(row[0]["size"])
    run.batches += 1
    return fate


def _restamp(row: NDArray[np.void], stays: RecordColumns, has_horizon: bool, horizon_ms: int | None) -> None:
    attributes = int(row[0]["attributes"])
    row["count"] = stays.rows
    row["attributes"] = attributes & (layout.CODEC_MASK | _KEPT_ATTRIBUTES)
    if has_horizon or horizon_ms is not None:
        row["attributes"] |= layout.DELETE_HORIZON
    if horizon_ms is not None:
        row["base_timestamp"] = horizon_ms
    elif not has_horizon:
        row["base_timestamp"] = stays.timestamp[0]
    if not attributes & layout.LOG_APPEND_TIME:
        row["max_timestamp"] = max(int(stays.timestamp.max()), layout.NO_TIMESTAMP)
