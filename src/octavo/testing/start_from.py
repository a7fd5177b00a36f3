"""Copies a log directory, or a partition's folder, as the start of a test."""

from __future__ import annotations

import shutil
from pathlib import Path

from octavo.errors import CorruptionError, ScanError
from octavo.format.names import PartitionFolder

_LEFT_OUT = shutil.ignore_patterns(".lock")


def copy_of(source: Path, target: Path) -> None:
    """Copy a log directory to a new path; of a partition's folder (`orders-0`), make a directory that has only that."""
    if not source.is_dir():
        raise ScanError(f"{source}: no such directory: give a log directory, or a partition's folder")
    is_partition = _is_partition(source)
    shutil.copytree(source, target / source.name if is_partition else target, ignore=_LEFT_OUT)


def _is_partition(folder: Path) -> bool:
    try:
        PartitionFolder.parse(folder.name)
    except (CorruptionError, ValueError):
        return False
    return any(folder.glob("*.log"))
