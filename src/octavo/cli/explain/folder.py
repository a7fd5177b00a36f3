"""Explains a folder: what each of its files is, and the command that shows the content of one of them."""

from __future__ import annotations

import shlex

from octavo.cli.options import echo, print_json
from octavo.cli.table import TableColumn, print_table
from octavo.cli.units import size_cell
from octavo.errors import CorruptionError
from octavo.format.names import (
    BROKER_STORE,
    CLEAN_SHUTDOWN,
    CLEANER_OFFSET_CHECKPOINT,
    COMMIT_STORE,
    GROUP_STORE,
    LEADER_EPOCH_CHECKPOINT,
    LOCK,
    LOG_START_OFFSET_CHECKPOINT,
    META_PROPERTIES,
    PARTITION_METADATA,
    PRODUCER_ID_STORE,
    QUORUM_STATE,
    QUOTA_STORE,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    SECURITY_STORE,
    TOPIC_STORE,
    FileKind,
    PartitionFolder,
    SegmentFile,
    Transient,
)
from octavo.scanner.places.location import Entry, Location

_COLUMNS = TableColumn("name"), TableColumn("bytes", right=True), TableColumn("what it is", importance=1)
_KINDS = {
    FileKind.LOG: "a segment: the batches from offset {offset} on",
    FileKind.OFFSET_INDEX: "offset index of segment {offset}: offset to position",
    FileKind.TIME_INDEX: "time index of segment {offset}: timestamp to offset",
    FileKind.TXN_INDEX: "aborted transactions of segment {offset}",
    FileKind.PRODUCER_SNAPSHOT: "the producers' state before offset {offset}",
}
_STATES = {
    Transient.DELETED: "; will be deleted",
    Transient.CLEANED: "; written by compaction or another rewrite, unfinished",
    Transient.SWAP: "; will replace the segments of its range",
}
_NAMED = {
    LEADER_EPOCH_CHECKPOINT: "which leader epoch began at which offset",
    PARTITION_METADATA: "the topic's id",
    QUORUM_STATE: "the last election that the node knows of",
    META_PROPERTIES: "which cluster, node and directory this is",
    RECOVERY_POINT_CHECKPOINT: "up to which offset each log was flushed",
    LOG_START_OFFSET_CHECKPOINT: "from which offset on each log can be read",
    REPLICATION_OFFSET_CHECKPOINT: "the high watermark of each log",
    CLEANER_OFFSET_CHECKPOINT: "up to which offset each log was compacted",
    CLEAN_SHUTDOWN: "all logs were closed before the broker ended",
    LOCK: "held while a broker or a writing command runs",
    PRODUCER_ID_STORE: "the next producer ids that octavo will assign",
    BROKER_STORE: "configs of the broker that were set while it ran",
    GROUP_STORE: "the configs of groups",
    QUOTA_STORE: "the quotas of clients",
    SECURITY_STORE: "users and ACLs",
    TOPIC_STORE: "ids and configs of topics that octavo created or changed",
    COMMIT_STORE: "which commits to several partitions are done, and which one is pending",
}


def explain_folder(folder: Location, as_json: bool) -> int:
    """Print one line per file or folder, and then on stderr a command that explains one of them."""
    rows = [(entry, _meaning(entry)) for entry in sorted(folder.list())]
    if as_json:
        for entry, meaning in rows:
            size = None if entry.is_folder else entry.size
            print_json({"name": entry.name, "bytes": size, "meaning": meaning})
        return 0
    if not rows:
        echo(f"octavo: {folder}: the folder is empty", err=True)
        return 0
    print_table(_COLUMNS, [[e.name, "-" if e.is_folder else size_cell(e.size), meaning] for e, meaning in rows])
    logs = [entry.name for entry, _ in rows if entry.name.endswith(FileKind.LOG)]
    partitions = [entry.name for entry, meaning in rows if entry.is_folder and meaning]
    partitions.sort(key=lambda name: name.startswith("__"))  # Kafka's own topics last
    if logs or partitions:
        path = shlex.quote(f"{folder}/{(logs or partitions)[0]}")
        echo(f"octavo: next: octavo explain {path}", err=True)
    return 0


def _meaning(entry: Entry) -> str:
    if entry.is_folder:
        return _partition(entry.name)
    segment = SegmentFile.parse(entry.name)
    if segment is not None:
        return _KINDS[segment.kind].format(offset=segment.base_offset) + _STATES.get(segment.transient, "")
    if entry.name.endswith(".checkpoint"):
        return "a snapshot of the cluster's metadata"
    return _NAMED.get(entry.name, "")


def _partition(name: str) -> str:
    try:
        folder = PartitionFolder.parse(name) if name.isascii() else None
    except CorruptionError:
        return ""
    return "" if folder is None else f"partition {folder.partition} of topic {folder.topic}"
