"""What mutations start from: bytes from real brokers, by the kind of file that held them."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

from octavo.errors import CorruptionError
from octavo.format.batches.batch import decode_batch
from octavo.format.batches.walker import walk
from octavo.format.record import Record
from octavo.kernels.layout import CODEC_MASK
from tests.golden import archives, strings

LARGEST_ENTRY = 2500
LARGEST_FILE = 2048
OF_EACH_KIND = 25


class Log(NamedTuple):
    """A log file of an archive and its topic."""

    topic: str
    path: Path


@cache
def logs() -> list[Log]:
    return [
        Log(path.parent.name.rpartition("-")[0], path)
        for name in archives.archives()
        for path in archives.files(name, "*.log")
    ]


@cache
def entries() -> list[bytes]:
    """Batches and messages: some of each magic, codec and set of flags in the archives, and the golden strings."""
    found: defaultdict[tuple[int, int], set[bytes]] = defaultdict(set)
    for log in logs():
        data = log.path.read_bytes()
        for row in walk(data, check_crc=False).table:
            kind = found[int(row["magic"]), int(row["attributes"])]
            start, size = int(row["position"]), int(row["size"])
            if size <= LARGEST_ENTRY and len(kind) < OF_EACH_KIND:
                kind.add(data[start : start + size])
    return [*strings.EVERYTHING.values(), *(entry for kind in sorted(found) for entry in sorted(found[kind]))]


@cache
def streams(codec: int, magic: int) -> list[bytes]:
    """The compressed part of v2 batches (magic 2) or the value of wrapper messages."""
    found = []
    for entry in entries():
        row = walk(entry, check_crc=False).table
        if len(row) != 1 or row[0]["magic"] != magic or row[0]["attributes"] & CODEC_MASK != codec:
            continue
        header = {0: 26, 1: 34, 2: 61}[magic]  # a wrapper has a null key
        found.append(entry[header:])
    return found


@cache
def records(topic: str) -> list[Record]:
    """Some records of a topic."""
    found: list[Record] = []
    for log in logs():
        if log.topic == topic:
            data = log.path.read_bytes()
            for row in walk(data).table[:200]:
                try:
                    found += decode_batch(data, int(row["position"]))[1]
                except CorruptionError:
                    continue
    return sorted(set(found), key=lambda record: (record.key or b"", record.value or b""))[:400]


@cache
def files(pattern: str) -> list[bytes]:
    """The beginnings of some files whose names match, and an empty file."""
    found = {path.read_bytes()[:LARGEST_FILE] for name in archives.archives() for path in archives.files(name, pattern)}
    return [b"", *sorted(found)][:60]


@cache
def names() -> list[bytes]:
    """Names of files and folders."""
    found = {part for name in archives.archives() for path in archives.files(name) for part in path.parts[-2:]}
    special = {"t-0.0123456789abcdef0123456789abcdef-delete", "a.b_c-d-11", "__cluster_metadata-0", "x-5-future"}
    special |= {"00000000000000000042.log.swap", "00000000000000000002-0000000001.checkpoint", "9" * 20 + ".log", "é-1"}
    return [name.encode() for name in sorted(found | special)]
