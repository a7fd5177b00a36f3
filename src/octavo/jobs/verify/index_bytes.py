"""Reads index files, and checks what the offset and the time index have in common: length and order of entries."""

from __future__ import annotations

import errno
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.format.indexes import offset_index, time_index
from octavo.format.names import FileKind
from octavo.jobs.verify import severities
from octavo.jobs.verify.finding import FindingCollector, FindingKind, Severity
from octavo.jobs.verify.view import SegmentView
from octavo.kernels.integers import INT32_MAX
from octavo.scanner.places.location import Location, ReadableFile, read_fully
from octavo.system.shown import count

_LAYOUTS = {FileKind.OFFSET_INDEX: offset_index.ENTRY, FileKind.TIME_INDEX: time_index.ENTRY}
_BLOCK_BYTES = 3 << 20  # a multiple of both entry sizes


class IndexBytes(NamedTuple):
    """An index file as read; `slots` ends with the last entry that is not all zeros."""

    path: Location
    slots: NDArray[np.void]
    size: int
    zero_slots: int
    cut_bytes: int
    is_there: bool = True
    is_readable: bool = True
    lost: Severity = Severity.PROBLEM  # severity of the finding if the file is missing


def read_index(view: SegmentView, kind: FileKind, findings: FindingCollector) -> IndexBytes:
    """Read an index file; a missing or unreadable one has no entries, and an unreadable one is reported.

    Most of an active segment's index is zeros, which are not kept.
    """
    listed = view.segment.offset_index if kind is FileKind.OFFSET_INDEX else view.segment.time_index
    path, layout = view.path(kind), _LAYOUTS[kind]
    if listed is None:
        return IndexBytes(path, layout.view(b""), 0, 0, 0, is_there=False, lost=severities.of_missing_index(view, kind))
    try:
        with path.open() as file:
            size = file.size()
            if size > INT32_MAX:
                raise OSError(errno.EFBIG, f"an index of {size} bytes, expected at most {INT32_MAX}")
            used = _read_used(file, size // layout.size * layout.size, layout.size)
    except FileNotFoundError:
        raise  # the segment is being deleted
    except OSError as error:
        findings.add_failure(path, error)
        return IndexBytes(path, layout.view(b""), 0, 0, 0, is_readable=False)
    slots: NDArray[np.void] = layout.view(used)
    return IndexBytes(path, slots, size, size // layout.size - len(slots), size % layout.size)


def check_length(index: IndexBytes, findings: FindingCollector, unused: Severity) -> None:
    """Check that all entries are whole and used; `unused` is the severity of unused ones."""
    entry_bytes = index.slots.dtype.itemsize
    if index.cut_bytes:
        detail = f"a file of {count(index.size, 'byte')}, expected a multiple of {entry_bytes}"
        findings.add(index.path, index.size - index.cut_bytes, FindingKind.PARTIAL_ENTRY, detail)
    if index.zero_slots:
        detail = f"{index.zero_slots} unused {'entry' if index.zero_slots == 1 else 'entries'} at the end"
        findings.add(index.path, len(index.slots) * entry_bytes, FindingKind.ZERO_ENTRIES, detail, unused)


def check_order(
    index: IndexBytes, keys: str, values: str, findings: FindingCollector, *, strict: bool = False
) -> NDArray[np.int64]:
    """Check that keys ascend and values do not descend, or ascend if `strict`. Returns the slots in use."""
    entry_bytes = index.slots.dtype.itemsize
    used = index.slots[keys] != 0
    used |= index.slots[values] != 0
    if len(used) and (len(used) == 1 or used[1]):
        used[0] = True  # zeros in the first slot are an entry like any other
    slots = np.flatnonzero(used)
    key, value = index.slots[keys][slots].astype(np.int64), index.slots[values][slots].astype(np.int64)
    for at in np.flatnonzero((key[1:] <= key[:-1]) | (value[1:] < value[:-1] + strict)) + 1:
        before = f"{keys} {key[at - 1]}, {values} {value[at - 1]}".replace("_", " ")
        found = f"{keys} {key[at]}, {values} {value[at]}".replace("_", " ")
        detail = f"{found} after {before}, expected ascending entries"
        findings.add(index.path, int(slots[at]) * entry_bytes, FindingKind.ENTRY_ORDER, detail)
    gaps = np.diff(slots, prepend=-1) - 1
    for at in np.flatnonzero(gaps):
        detail = f"an entry after {count(int(gaps[at]), 'unused one')}, expected all entries at the start"
        findings.add(index.path, int(slots[at]) * entry_bytes, FindingKind.ENTRY_ORDER, detail)
    return slots


def _read_used(file: ReadableFile, end: int, entry_bytes: int) -> bytes:
    """All bytes up to the last entry that is not all zeros, which is searched for from the end."""
    block = memoryview(bytearray(min(_BLOCK_BYTES, max(end, 1))))
    while end > 0:
        start = max(end - _BLOCK_BYTES, 0)
        filled = read_fully(file, block[: end - start], start)
        used = np.flatnonzero(np.frombuffer(block[:filled], np.uint8))
        if len(used):
            end = start + (int(used[-1]) // entry_bytes + 1) * entry_bytes
            break
        end = start
    content: Any = memoryview(bytearray(end))
    return bytes(content[: read_fully(file, content, 0)])
