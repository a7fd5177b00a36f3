"""Delayed deletion: files are renamed to `.deleted` at once, so that readers can finish, and removed later."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from octavo.format.names import Transient
from octavo.storage.segment.segment import Segment
from octavo.system.filesystem import FileSystem
from octavo.system.scheduler import Scheduler

_log = logging.getLogger(__name__)


class Deleter:
    """Deletes segments and snapshots of one log after file.delete.delay.ms.

    1. The caller takes the segments out of the log. 2. Their files are renamed to `.deleted`, the log file first: if a
    crash leaves an index without its log file, loading removes it. 3. After the delay the files are removed; if a crash
    comes first, loading with upkeep removes them.
    """

    def __init__(self, filesystem: FileSystem, scheduler: Scheduler) -> None:
        self._filesystem = filesystem
        self._scheduler = scheduler

    def delete_segments(self, segments: Sequence[Segment], delay_ms: int | None) -> None:
        """Do steps 2 and 3 for segments that were taken out of the log; without a delay only step 2."""
        for segment in segments:
            if segment.files.transient is not Transient.DELETED:
                segment.files.rename(Transient.DELETED)

        def remove() -> None:
            for segment in segments:
                segment.files.unlink()

        if segments and delay_ms is not None:
            self._scheduler.schedule("delete-file", remove, delay_ms=delay_ms)

    def delete_paths(self, paths: Sequence[Path], delay_ms: int | None) -> None:
        """Do step 3 for files that already have the suffix."""

        def remove() -> None:
            for path in paths:
                self._filesystem.unlink(path)

        if paths and delay_ms is not None:
            self._scheduler.schedule("delete-producer-snapshot", remove, delay_ms=delay_ms)


def remove_folder(filesystem: FileSystem, folder: Path) -> None:
    """Remove a partition's folder and all files in it. A crash in between leaves a folder that upkeep removes later.

    Links are removed, not their targets. If the folder cannot be removed, only a warning is logged: it does no harm.
    """
    try:
        target = filesystem.link_target(folder)
        if target is None:
            for name in filesystem.names(folder):
                filesystem.unlink(folder / name)
            for name in filesystem.others(folder):
                if filesystem.link_target(folder / name) is not None or not filesystem.is_folder(folder / name):
                    filesystem.unlink(folder / name)
            filesystem.rmdir(folder)
        else:
            filesystem.unlink(folder)
            _log.warning(
                "%s was a link and has been removed; the files that it pointed to are still in %s", folder, target
            )
        filesystem.fsync_folder(folder.parent)
    except FileNotFoundError:
        _log.debug("%s is gone already", folder)
    except OSError as error:
        _log.warning("%s cannot be removed: %s", folder, error.strerror)
