"""A real log directory: its partitions, their segments, and the path of a lookup."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from octavo.format import names
from octavo.format.names import FileKind, SegmentFile
from tests.docs.diagrams.svg import Drawing
from tests.docs.diagrams.written import store

MEANINGS = {
    names.META_PROPERTIES: "cluster id, node id, directory id",
    names.RECOVERY_POINT_CHECKPOINT: "up to here logs are synced",
    names.LOG_START_OFFSET_CHECKPOINT: "what delete-records cut",
    names.REPLICATION_OFFSET_CHECKPOINT: "high watermarks",
    names.CLEANER_OFFSET_CHECKPOINT: "up to here logs are cleaned",
    names.CLEAN_SHUTDOWN: "stopped cleanly",
    names.LOCK: "held by the owner's process",
    names.TOPIC_STORE: "topic ids and configs (Octavo's)",
    names.PRODUCER_ID_STORE: "the next producer id (Octavo's)",
    names.LEADER_EPOCH_CHECKPOINT: "first offset of each leader epoch",
    names.PARTITION_METADATA: "the topic's id",
}
KINDS = {
    FileKind.TIME_INDEX: "timestamp → offset",
    FileKind.OFFSET_INDEX: "offset → position",
    FileKind.LOG: "the record batches",
    FileKind.TXN_INDEX: "aborted transactions",
    FileKind.PRODUCER_SNAPSHOT: "producers, up to this offset",
}
FILLS = {FileKind.TIME_INDEX: "orange", FileKind.OFFSET_INDEX: "orange", FileKind.LOG: "green"}
ROW = 22
ROOT_X, PARTITION_X = 30, 490


def draw() -> Drawing:
    with store() as written:
        logs = written.logs
        configs = {"segment.bytes": "600", "segment.index.bytes": "240", "index.interval.bytes": "1"}
        logs.create_topic("orders", 2, configs)
        with logs.producer(transactional_id="t", linger_ms=0) as producer:
            for number in range(6):
                producer.begin_transaction()
                producer.send("orders", b"v" * 40, key=b"k%d" % number, partition=0)
                producer.flush()
                producer.commit_transaction() if number else producer.abort_transaction()
        logs.close()
        root = [(name, _size(written.folder / name)) for name in sorted(_names(written.folder))]
        partition = [(name, _size(written.folder / "orders-0" / name)) for name in _names(written.folder / "orders-0")]
    drawing = Drawing("A log directory, a partition and its segments", 976, 0)
    opened, root_end = _root(drawing, root)
    partition_end = _partition(drawing, partition, opened)
    drawing.height = max(root_end, partition_end) + 24
    return drawing


def _names(folder: Path) -> Iterator[str]:
    return (path.name for path in folder.iterdir())


def _size(path: Path) -> int | None:
    return None if path.is_dir() else path.stat().st_size


def _root(drawing: Drawing, listed: list[tuple[str, int | None]]) -> tuple[int, int]:
    """The root's folders and files; returns the y of the opened folder's row, and the y after the last row."""
    drawing.text(ROOT_X, 30, "Log directory", "ink title")
    y = opened = 42
    for name, size in sorted(listed, key=lambda row: (row[1] is not None, row[0])):
        is_open = name == "orders-0"
        drawing.box(ROOT_X, y, 225, ROW, "blue" if is_open else "plain")
        drawing.text(ROOT_X + 8, y + 15, name + ("/" if size is None else ""), "ink code small")
        meaning = "a partition's folder" if size is None else MEANINGS[name]
        drawing.text(ROOT_X + 235, y + 15, "" if is_open else meaning, "soft small")
        opened = y if is_open else opened
        y += ROW + 3
    return opened, y


def _partition(drawing: Drawing, listed: list[tuple[str, int | None]], opened: int) -> int:
    """The partition's small files, then its segments with the arrows of a lookup."""
    x = PARTITION_X
    drawing.text(x, 30, "The partition orders-0, by segment", "ink title")
    drawing.arrow((ROOT_X + 225, opened + 11), (x - 40, opened + 11), (x - 40, 26), (x - 6, 26))
    segments: dict[int, dict[FileKind, int]] = {}
    y = 42
    for name, size in sorted(listed):
        file = SegmentFile.parse(name)
        if file is None:
            drawing.box(x, y, 225, ROW)
            drawing.text(x + 8, y + 15, name, "ink code small")
            drawing.text(x + 235, y + 15, MEANINGS[name], "soft small")
            y += ROW + 3
        else:
            segments.setdefault(file.base_offset, {})[file.kind] = size or 0
    for number, (base_offset, kinds) in enumerate(segments.items()):
        y = _segment(drawing, y + 14, base_offset, kinds, ways=number == 0)
    return y


def _segment(drawing: Drawing, y: int, base_offset: int, kinds: dict[FileKind, int], *, ways: bool) -> int:
    x, rows = PARTITION_X, {}
    for kind, meaning in KINDS.items():
        if kind not in kinds:
            continue
        drawing.box(x, y, 225, ROW, FILLS.get(kind, "plain"))
        drawing.text(x + 8, y + 15, SegmentFile(base_offset, kind).name, "ink code small")
        drawing.text(x + 260, y + 15, f"{meaning}, {kinds[kind]} bytes", "soft small")
        rows[kind] = y + ROW / 2
        y += ROW + 3
    if ways:
        drawing.arrow((x - 34, rows[FileKind.TIME_INDEX]), (x - 2, rows[FileKind.TIME_INDEX]))
        drawing.text(x - 40, rows[FileKind.TIME_INDEX] + 4, "a time", "ink small halo", anchor="end")
        drawing.arrow((x - 34, rows[FileKind.OFFSET_INDEX]), (x - 2, rows[FileKind.OFFSET_INDEX]))
        drawing.text(x - 40, rows[FileKind.OFFSET_INDEX] + 4, "an offset", "ink small halo", anchor="end")
    steps = ((FileKind.TIME_INDEX, FileKind.OFFSET_INDEX), (FileKind.OFFSET_INDEX, FileKind.LOG))
    for above, below in steps if FileKind.LOG in kinds else ():
        right, start, end = x + 225, rows[above] + 3, rows[below] - 3
        drawing.arrow((right, start), (right + 20, start), (right + 20, end), (right + 2, end))
    return y
