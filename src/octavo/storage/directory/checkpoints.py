"""The four offset checkpoints of a log dir: recovery points, log start offsets, high watermarks, cleaner offsets."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from octavo.errors import CorruptionError
from octavo.format.names import TopicPartition
from octavo.format.small_files import checkpoint
from octavo.storage.files.small_file import replace_file
from octavo.system.filesystem import FileSystem

_log = logging.getLogger(__name__)


def read_offsets(filesystem: FileSystem, path: Path) -> dict[TopicPartition, int]:
    """A checkpoint's offsets. One that is absent or unreadable says nothing, as in Kafka: recovery is longer then."""
    if not filesystem.exists(path):
        return {}
    try:
        return checkpoint.decode_offsets(filesystem.read_bytes(path))
    except CorruptionError as error:
        _log.warning("%s", error.at(path=str(path)))
        return {}


def write_offsets(filesystem: FileSystem, path: Path, offsets: Mapping[TopicPartition, int]) -> None:
    """Write a checkpoint anew; after a crash it is the old one or the new one."""
    replace_file(filesystem, path, checkpoint.encode_offsets(offsets))
