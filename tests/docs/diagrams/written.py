"""Real logs for the diagrams: written with a manual clock, so that they are the same in every run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from octavo.format.batches.header import BatchHeader
from octavo.format.batches.walker import walk
from octavo.format.names import FileKind, SegmentFile
from octavo.scanner.log_dirs import open_log_dirs
from octavo.scanner.partition.snapshot import PartitionSnapshot, look_at
from tests.client.stores import Store


@contextmanager
def store() -> Iterator[Store]:
    """A log directory that is removed when the drawing is done."""
    with TemporaryDirectory() as folder:
        root = Path(folder) / "logs"
        root.mkdir()
        made = Store(root, offsets_topic_num_partitions="1", transaction_state_log_num_partitions="1")
        try:
            yield made
        finally:
            made.logs.close()


def batches(data: bytes) -> list[BatchHeader]:
    """The batches of a log's bytes."""
    return [BatchHeader.from_row(row) for row in walk(data).table]


def segment_bytes(folder: Path, base_offset: int, kind: FileKind) -> bytes:
    return (folder / SegmentFile(base_offset, kind).name).read_bytes()


def snapshot(folder: Path) -> PartitionSnapshot:
    """The partition in a folder, as a reader finds it."""
    [files] = open_log_dirs(str(folder)).partitions.values()
    return look_at(files)
