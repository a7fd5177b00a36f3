"""The four files of a segment: renamed, synced and removed together."""

from __future__ import annotations

from pathlib import Path

from octavo.config import LogConfig
from octavo.format.names import FileKind, SegmentFile, Transient
from octavo.storage.segment.build_index import BuiltIndexes, IndexLimits, build_indexes
from octavo.storage.segment.index_file import OffsetIndexFile, TimeIndexFile
from octavo.storage.segment.log_file import LogFile
from octavo.storage.segment.txn_index_file import TxnIndexFile
from octavo.system.filesystem import FileSystem

KINDS = FileKind.LOG, FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX
_File = LogFile | OffsetIndexFile | TimeIndexFile | TxnIndexFile


class SegmentFiles:
    """Owns the handles. The log file must exist (`create` makes it); index files are created when they are needed."""

    def __init__(
        self,
        filesystem: FileSystem,
        folder: Path,
        base_offset: int,
        config: LogConfig,
        *,
        transient: Transient = Transient.NONE,
        create: bool = False,
    ) -> None:
        self.filesystem = filesystem
        self.folder = folder
        self.base_offset = base_offset
        self.transient = transient
        path = self.path(FileKind.LOG)
        preallocated = config.segment_bytes if config.preallocate else 0
        self.log = LogFile.create(filesystem, path, preallocated) if create else LogFile(filesystem, path)
        most = config.segment_index_bytes
        self._limits = IndexLimits(config.index_interval_bytes, most)
        self.offset_index = OffsetIndexFile(
            filesystem, self.path(FileKind.OFFSET_INDEX), base_offset, most, lambda: self._built().offset_index
        )
        self.time_index = TimeIndexFile(
            filesystem, self.path(FileKind.TIME_INDEX), base_offset, most, lambda: self._built().time_index
        )
        self.txn_index = TxnIndexFile(filesystem, self.path(FileKind.TXN_INDEX), base_offset)
        self._all: tuple[_File, ...] = self.log, self.offset_index, self.time_index, self.txn_index  # as in KINDS

    def path(self, kind: FileKind, transient: Transient | None = None) -> Path:
        """The path of the file of this kind, or its path with another transient suffix."""
        suffix = self.transient if transient is None else transient
        return self.folder / SegmentFile(self.base_offset, kind, suffix).name

    def _built(self) -> BuiltIndexes:
        return build_indexes(self.filesystem, self.log.path, self.base_offset, self._limits)

    def rename(self, transient: Transient) -> None:
        """Give all files another suffix, the log first; missing index files are skipped."""
        for file, kind in zip(self._all, KINDS, strict=True):
            file.rename(self.path(kind, transient))
        self.transient = transient

    def flush(self) -> None:
        """Sync all files to the disk."""
        self.log.fsync()
        self.offset_index.flush()
        self.time_index.flush()
        self.txn_index.flush()

    def release(self) -> None:
        """Release descriptors and mappings; the next use opens them again."""
        for file in self._all:
            file.release()

    def retire(self) -> None:
        """Let go of the files, since other objects own them now; the two indexes cannot be opened again."""
        self.release()
        self.offset_index.retire()
        self.time_index.retire()

    def unlink(self) -> None:
        """Remove all files."""
        for file in self._all:
            file.unlink()
