"""Dumps `.timeindex` files: compares each entry with the batch it names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.cli.dump_log.java_file import JavaFile
from octavo.cli.dump_log.log_file import DumpedLog
from octavo.cli.dump_log.offset_index import check_sanity, entries_to_show
from octavo.cli.dump_log.options import Options
from octavo.cli.dump_log.records import RecordReader
from octavo.cli.dump_log.report import DumpFindings
from octavo.cli.dump_log.single_batch import SingleBatch, batch_at, too_small
from octavo.errors import CorruptionError
from octavo.format.batches.chunk_walk import walk_chunks
from octavo.format.batches.walker import walk
from octavo.format.indexes.offset_index import OffsetIndex
from octavo.format.indexes.time_index import TimeIndex
from octavo.format.names import base_offset_of
from octavo.kernels.layout import NO_TIMESTAMP, Stop
from octavo.system.regular_file import read_regular

# The last 8 KiB of an index are likely to be in memory, so Kafka searches them first.
_WARM_BYTES = 8192


def dump_time_index(file: JavaFile, options: Options, findings: DumpFindings) -> None:
    base_offset = base_offset_of(file.name)
    with DumpedLog(file.sibling(".log")) as log:
        offset_index = OffsetIndex.decode(read_regular(file.sibling(".index")), base_offset)
        time_index = TimeIndex.decode(read_regular(file.path), base_offset)
        if options.has("index-sanity-check"):
            check_sanity(time_index, file)
            return
        count = entries_to_show(time_index)
        timestamps, offsets = time_index.timestamps()[:count].tolist(), time_index.offsets()[:count].tolist()
        positions = [_start_position(offset_index, offset) for offset in offsets]
        chain = BatchChain(log, positions, file.sibling(".index"))
        previous = NO_TIMESTAMP
        for timestamp, offset, position in zip(timestamps, offsets, positions, strict=True):
            batch = chain.first_up_to(offset, position)
            if batch is None or batch.last_offset != offset:
                findings.not_found[file.absolute].append((offset, -1 if batch is None else batch.last_offset))
            else:
                newest = _max_timestamp(log, batch)
                if newest != timestamp:
                    findings.timestamp_mismatches[file.absolute].append((timestamp, newest))
                if previous >= timestamp:
                    findings.out_of_order[file.absolute].append((timestamp, previous))
            if not options.has("verify-index-only"):
                print(f"timestamp: {timestamp} offset: {offset}")
            previous = timestamp


def _max_timestamp(log: DumpedLog, batch: SingleBatch) -> int:
    """The largest timestamp of the batch's records; at least -1."""
    data = memoryview(log.read_at(batch.position, batch.size))
    try:
        (records,) = RecordReader().of_batches(data, walk(data, check_crc=False).table)
        return max([NO_TIMESTAMP, *(record.timestamp for record in records)])
    except CorruptionError as error:
        raise error.at(position=batch.position, path=log.path) from None


def _start_position(index: OffsetIndex, offset: int) -> int:
    slot = last_slot_up_to(index.slots["relative_offset"], offset - index.base_offset, OffsetIndex.LAYOUT.size)
    return index[slot].position if slot >= 0 else 0


class BatchChain:
    """The batches of a log file, followed from the positions that an index gives.

    Kafka follows them from each position to the end of the file, and fails where they break off. One pass answers this
    for all positions where a batch begins; from any other position the batches are followed again.
    """

    def __init__(self, log: DumpedLog, starts: list[int], index: str) -> None:
        self._log = log
        self._index = index
        self._starts = np.unique(np.array(starts, np.int64))
        self._broken_at: dict[int, int | None] = {}  # start → the position where the batches break off

    def first_up_to(self, offset: int, start: int) -> SingleBatch | None:
        """The first batch from `start` on whose last offset is not below `offset`."""
        self._check(start)
        position = start
        while (batch := batch_at(self._log, position, self._log.size)) is not None and batch.last_offset < offset:
            position += batch.size
        return batch

    def _check(self, start: int) -> None:
        if not 0 <= start <= self._log.size:
            expected = f"expected a position inside the log of {self._log.size} bytes"
            raise CorruptionError(f"an entry that points to position {start}, {expected}", path=self._index)
        if not self._broken_at:
            self._follow(0)
        if start not in self._broken_at:
            self._follow(start)
        broken_at = self._broken_at[start]
        if broken_at is not None:
            raise too_small(self._log, broken_at)

    def _follow(self, start: int) -> None:
        met, stop, end = [start], None, start
        for chunk in walk_chunks(self._log.reader(start, self._log.size), check_crc=False):
            places = chunk.table["position"] + (start + chunk.file_position)
            met += np.intersect1d(places, self._starts, assume_unique=True).tolist()
            stop, end = chunk.stop, start + chunk.stop_position
        self._broken_at |= dict.fromkeys([*met, end], end if stop is Stop.SIZE_TOO_SMALL else None)


def last_slot_up_to(keys: NDArray[Any], target: int, entry_bytes: int) -> int:
    """The slot of the largest key that is not above the target; -1 if the first key is larger, or there is none.

    This is Kafka's search, step by step: over the zeros of a file that was never trimmed, or over damaged slots, it
    ends where Kafka's does, because the tool's output depends on that.
    """
    if not len(keys):
        return -1
    first_warm = max(0, len(keys) - 1 - _WARM_BYTES // entry_bytes)
    if keys[first_warm] < target:
        return _search(keys, target, first_warm, len(keys) - 1)
    if keys[0] > target:
        return -1
    return _search(keys, target, 0, first_warm)


def _search(keys: NDArray[Any], target: int, low: int, high: int) -> int:
    while low < high:
        middle = (low + high + 1) // 2
        key = int(keys[middle])
        if key == target:
            return middle
        if key > target:
            high = middle - 1
        else:
            low = middle
    return low
