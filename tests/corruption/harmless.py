"""The bytes of a log directory that no checksum covers and nothing contradicts: why a flip of one may go unnoticed.

Each class is decided here from the formats alone, without the code of `verify`, for the bytes after the flip.

| class | why nobody can tell |
|---|---|
| on its way out | `.deleted` files and `-delete` folders are never read again |
| existence only | `.kafka_cleanshutdown` counts by existing; nothing contradicts its epoch. `.lock` is only locked |
| identity | cluster, node, directory and topic ids, votes: stated once, in a text that is still well-formed |
| plausible offset | a checkpoint, still well-formed: the log reaches its offset, or its partition is absent now |
| lost end | a high watermark or first dirty offset beyond a log whose end a crash took: it may have been there |
| plausible epoch | a leader epoch entry, still ascending, that no batch contradicts |
| room between offsets | a batch's base offset is outside its CRC: it moved into a gap, or past the end of the log |
| epoch without a witness | a batch's leader epoch is outside its CRC; leader-epoch-checkpoint has none for its offset |
| another sound entry | an index entry that names another batch or record; some version of Kafka could have written it |
| aborted before compaction | a transaction index entry whose batches compaction has removed |
| begun before the segment | a transaction index entry, where no snapshot says what was open when the segment began |
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from octavo.errors import CorruptionError
from octavo.format.batches.batch import decode_batch
from octavo.format.batches.walker import Walk, walk
from octavo.format.indexes import offset_index, time_index, txn_index
from octavo.format.names import CLEANER_OFFSET_CHECKPOINT, OFFSET_CHECKPOINTS, REPLICATION_OFFSET_CHECKPOINT
from octavo.format.small_files import checkpoint, leader_epochs, meta_properties, partition_metadata, quorum_state
from octavo.format.small_files.partition_metadata import PartitionMetadata
from tests.corruption.scene import Flip

_IDENTITIES = {
    "meta.properties": meta_properties.decode,
    "quorum-state": quorum_state.decode,
    "partition.metadata": partition_metadata.decode,
}

_UNFLUSHED = (REPLICATION_OFFSET_CHECKPOINT, CLEANER_OFFSET_CHECKPOINT)


def reason(flip: Flip) -> str | None:
    """The class of an undetected flip; None if it should have been detected. The byte must still be flipped."""
    name, folder = flip.path.name, flip.path.parent
    if ".deleted" in name or folder.name.endswith("-delete"):
        return "on its way out"
    if name in (".kafka_cleanshutdown", ".lock"):
        return "existence only"
    try:
        if name in _IDENTITIES:
            return "identity" if _is_well_formed(flip) else None
        if name in OFFSET_CHECKPOINTS:
            return _offsets(flip)
        if name == "leader-epoch-checkpoint":
            return _epochs(flip)
    except CorruptionError:
        return None
    by_suffix = {".log": _log, ".index": _offset_index, ".timeindex": _time_index, ".txnindex": _txn_index}
    decide = by_suffix.get(flip.path.suffix)
    return None if decide is None else decide(flip)


def _is_well_formed(flip: Flip) -> bool:
    content = flip.path.read_bytes()
    found = _IDENTITIES[flip.path.name](content)
    return not isinstance(found, PartitionMetadata) or partition_metadata.encode(found) == content


def _log_of(path: Path) -> Walk:
    return walk(path.with_suffix(".log").read_bytes())


def _logs(folder: Path) -> list[Walk]:
    return [walk(path.read_bytes()) for path in sorted(folder.glob("*.log"))]


def _end_of(folder: Path) -> int:
    tables = [found.table for found in _logs(folder) if len(found.table)]
    if tables:
        return int(tables[-1][-1]["base_offset"]) + int(tables[-1][-1]["last_offset_delta"]) + 1
    return max((int(path.stem) for path in folder.glob("*.log")), default=0)


def _offsets(flip: Flip) -> str | None:
    content = flip.path.read_bytes()
    offsets = checkpoint.decode_offsets(content)
    if checkpoint.encode_offsets(offsets) != content:
        return None
    why = "plausible offset"
    for topic_partition, offset in offsets.items():
        folder = flip.path.parent / str(topic_partition)
        if offset < 0:
            return None
        if folder.is_dir() and offset > _end_of(folder):
            if flip.path.name not in _UNFLUSHED or not _has_lost_end(folder):
                return None
            why = "lost end"
    return why


def _has_lost_end(folder: Path) -> bool:
    last = _logs(folder)[-1]
    return last.next_position < len(last.data)


def _epochs(flip: Flip) -> str | None:
    content = flip.path.read_bytes()
    entries = leader_epochs.decode(content)
    ascending = all(one.epoch < two.epoch and one.start_offset < two.start_offset for one, two in pairwise(entries))
    if leader_epochs.encode(entries) != content or not ascending:
        return None
    if entries and entries[-1].start_offset > _end_of(flip.path.parent):
        return None
    for found in _logs(flip.path.parent):
        for row in found.table[found.table["magic"] >= 2]:
            expected = leader_epochs.epoch_for_offset(entries, int(row["base_offset"]))
            if expected not in (None, row["partition_leader_epoch"]) and row["partition_leader_epoch"] != -1:
                return None
    return "plausible epoch"


def _log(flip: Flip) -> str | None:
    """Of the fields outside the CRC, only the base offset and, in a v2 batch, the leader epoch may change unnoticed."""
    table = _log_of(flip.path).table
    slot = int(np.searchsorted(table["position"], flip.position, "right")) - 1
    if slot < 0:
        return None
    row, at = table[slot], flip.position - int(table[slot]["position"])
    if 12 <= at < 16 and row["magic"] >= 2:
        entries = leader_epochs.decode(_content(flip.path.with_name("leader-epoch-checkpoint")))
        known = leader_epochs.epoch_for_offset(entries, int(row["base_offset"]))
        return "epoch without a witness" if known is None or row["partition_leader_epoch"] == -1 else None
    if at >= 8 or row["flaws"]:
        return None
    before = int(table[slot - 1]["base_offset"]) + int(table[slot - 1]["last_offset_delta"]) if slot else -1
    first, last = _offsets_of(flip.path.read_bytes(), row)
    bases = [int(path.stem) for path in flip.path.parent.glob("*.log")]
    behind = [base for base in bases if base > int(flip.path.stem)]
    limit = min(behind, default=int(flip.path.stem) + 2**31)
    if slot + 1 < len(table):
        limit = min(limit, _offsets_of(flip.path.read_bytes(), table[slot + 1])[0])
    fits = max(before + 1, int(flip.path.stem)) <= first <= last < limit
    return "room between offsets" if fits else None


def _offsets_of(content: bytes, row: np.void) -> tuple[int, int]:
    first, last = int(row["base_offset"]), int(row["base_offset"]) + int(row["last_offset_delta"])
    if row["magic"] < 2 and row["attributes"] & 7:
        first = decode_batch(content, int(row["position"]))[1][0].offset
    return first, last


def _offset_index(flip: Flip) -> str | None:
    index = offset_index.OffsetIndex.decode(flip.path.read_bytes(), int(flip.path.stem)).used()
    table = _log_of(flip.path).table
    last = (table["base_offset"] + table["last_offset_delta"]).tolist()
    entries = list(index)
    slot = flip.position // offset_index.ENTRY.size
    if slot >= len(entries):
        return None
    entry, bound = entries[slot], entries[slot + 1].position if slot + 1 < len(entries) else 1 << 40
    rows = np.flatnonzero((table["position"] >= entry.position) & (table["position"] < bound)).tolist()
    if not rows or table[rows[0]]["position"] != entry.position:
        return None
    first = _offsets_of(flip.path.with_suffix(".log").read_bytes(), table[rows[0]])[0]
    is_sound = entry.offset in {first, *(last[row] for row in rows)}
    ascending = all(one.offset < two.offset and one.position < two.position for one, two in pairwise(entries))
    return "another sound entry" if is_sound and ascending else None


def _time_index(flip: Flip) -> str | None:
    index = list(time_index.TimeIndex.decode(flip.path.read_bytes(), int(flip.path.stem)).used())
    slot = flip.position // time_index.ENTRY.size
    content = flip.path.with_suffix(".log").read_bytes()
    ascending = all(one.timestamp < two.timestamp and one.offset <= two.offset for one, two in pairwise(index))
    if slot >= len(index) or not ascending:
        return None
    for row in walk(content).table:
        _, records = decode_batch(content, int(row["position"]))
        sound = {(record.timestamp, record.offset) for record in records}
        sound.add((int(row["max_timestamp"]), int(row["base_offset"]) + int(row["last_offset_delta"])))
        without_time = row["magic"] == 0 and index[slot].offset in {record.offset for record in records}
        if index[slot] in sound or without_time:
            return "another sound entry"
    return None


def _txn_index(flip: Flip) -> str | None:
    """There may be no evidence for what an entry says about missing offsets, or about transactions that began
    before the segment."""
    slot = flip.position // txn_index.ENTRY.size
    entries = txn_index.decode(flip.path.read_bytes()).aborted
    txn = entries[slot]
    table = _log_of(flip.path).table
    starts = table["base_offset"].tolist()
    ends = (table["base_offset"] + table["last_offset_delta"] + 1).tolist()
    in_order = 0 <= txn.first_offset < txn.last_offset < ends[-1]
    if not in_order or not 0 <= txn.last_stable_offset <= txn.last_offset + 1:
        return None
    has_gaps = starts[1:] != ends[:-1] or bool((table["count"] != table["last_offset_delta"] + 1).any())
    if has_gaps:
        return "aborted before compaction"
    was_open = [one for one in entries[:slot] if one.last_offset > txn.first_offset]
    contradicted = any(one.last_stable_offset > txn.first_offset for one in was_open)
    unseeded = int(flip.path.stem) > 0 and not flip.path.with_suffix(".snapshot").exists()
    elsewhere = txn.first_offset < starts[0] or flip.position % txn_index.ENTRY.size >= 26
    return "begun before the segment" if unseeded and elsewhere and not contradicted else None


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
