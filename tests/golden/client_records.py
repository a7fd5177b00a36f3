"""What real clients read from golden archives, in the form that tests compare."""

from __future__ import annotations

import base64
from collections import defaultdict
from pathlib import Path

from octavo.scanner.reading.plan import IsolationLevel
from tests.golden import archives

WITH_RECORDS = [name for name in archives.archives() if archives.entry(name).get("records")]


Row = tuple[int, int, str, str | None, str | None, list[list[str | None]]]


Partition = tuple[IsolationLevel, str, int]  # isolation level, topic, partition


def log_dirs(archive: str) -> list[Path]:
    """The archive's log directories: itself, or its sub-folders if it holds several disks of one node."""
    root = archives.unpack(archive)
    return sorted(path.parent for path in root.glob("*/meta.properties")) or [root]


def expected(archive: str) -> dict[Partition, list[Row]]:
    table: dict[Partition, list[Row]] = defaultdict(list)
    for row in archives.records(archive):
        partition = row.get("isolation", "read_uncommitted"), row["topic"], row["partition"]
        timestamp, kind = row.get("timestamp", -1), row.get("timestampType", "NoTimestampType")
        headers = [list(header) for header in row.get("headers") or []]
        table[partition].append((row["offset"], timestamp, kind, row["key"], row["value"], headers))
    return table


def text(content: bytes | bytearray | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()
