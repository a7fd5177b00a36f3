"""Whether a finding is where the damage is."""

from __future__ import annotations

from pathlib import Path

from octavo.format.batches.walker import walk
from octavo.format.indexes import offset_index, time_index, txn_index
from octavo.jobs.verify.finding import Finding

ENTRIES = {".index": offset_index.ENTRY.size, ".timeindex": time_index.ENTRY.size, ".txnindex": txn_index.ENTRY.size}


def is_near(found: Finding, undamaged: Path, position: int) -> bool:
    """Whether it is at the batch or entry that holds the position, or at the next one, where the order breaks.

    Anywhere in the file will do for a text file, and for a producer snapshot, which has one CRC.
    """
    if found.position is None:
        return undamaged.suffix not in (".log", *ENTRIES)
    if undamaged.suffix in ENTRIES:
        size = ENTRIES[undamaged.suffix]
        return found.position // size in (position // size, position // size + 1)
    if undamaged.suffix in (".log", ".checkpoint"):
        starts = [*walk(undamaged.read_bytes()).table["position"].tolist(), undamaged.stat().st_size]
        before = max((start for start in starts if start <= position), default=0)
        behind = min((start for start in starts if start > position), default=before)
        return bool(before <= found.position <= behind)
    return True
