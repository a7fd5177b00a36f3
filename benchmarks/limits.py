"""The physical limits: how long the machine needs for the bytes alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import crc32c
import numpy as np

from octavo.format.batches.chunk_walk import CHUNK_BYTES


def read(path: Path, use: Callable[[memoryview], object] = len) -> None:
    """Read into one reused buffer, and call `use` on each filling."""
    buffer = memoryview(bytearray(CHUNK_BYTES))
    with path.open("rb", buffering=0) as file:
        while got := file.readinto(buffer):
            use(buffer[:got])


def read_and_checksum(path: Path) -> None:
    read(path, crc32c.crc32c)


def read_checksum_and_copy(path: Path) -> None:
    target = np.empty(CHUNK_BYTES, np.uint8)

    def use(view: memoryview) -> None:
        crc32c.crc32c(view)
        np.copyto(target[: len(view)], np.frombuffer(view, np.uint8))

    read(path, use)


def copy_and_checksum(sources: list[memoryview]) -> None:
    """Copy each source into one reused buffer with memcpy, and compute its CRC."""
    target = np.empty(max(map(len, sources)), np.uint8)
    for source in sources:
        np.copyto(target[: len(source)], np.frombuffer(source, np.uint8))
        crc32c.crc32c(target[: len(source)])
