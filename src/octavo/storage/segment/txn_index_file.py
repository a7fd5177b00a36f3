"""A segment's `.txnindex`: the aborted transactions whose marker is in the segment; the first of them creates the
file."""

from __future__ import annotations

from pathlib import Path

from octavo.errors import CorruptionError
from octavo.format.indexes import txn_index
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.storage.files.open_files import OPEN_FILES, ReleasableFile
from octavo.system.filesystem import File, FileSystem


class TxnIndexFile(ReleasableFile):
    """Written under the log's lock, read without it."""

    def __init__(self, filesystem: FileSystem, path: Path, base_offset: int) -> None:
        super().__init__(filesystem, path)
        self.base_offset = base_offset
        self.is_new = False  # a power loss could still lose the file's name

    def append(self, aborted: AbortedTxn) -> None:
        """Add a transaction; its marker must come after those of all others."""
        file = self._open(create=True)
        assert file is not None
        end = file.size() // txn_index.ENTRY.size * txn_index.ENTRY.size
        last = txn_index.decode(file.pread(txn_index.ENTRY.size, end - txn_index.ENTRY.size)).aborted if end else []
        if last and last[0].last_offset >= aborted.last_offset:
            found = f"an aborted transaction ends at offset {aborted.last_offset}"
            expected = f"expected an offset after {last[0].last_offset}, where the last one in the file ends"
            raise CorruptionError(f"{found}, {expected}", path=str(self.path))
        file.pwrite(txn_index.encode([aborted]), end)

    @property
    def size(self) -> int:
        """The file's size; 0 if there is none."""
        return 0 if (file := self._open()) is None else file.size()

    def aborted(self) -> list[AbortedTxn]:
        """All transactions, in the order of their markers; CorruptionError for an entry of a newer version."""
        file = self._open()
        if file is None:
            return []
        try:
            return txn_index.decode(file.pread(file.size(), 0)).aborted
        except CorruptionError as error:
            raise error.at(path=str(self.path)) from None

    def truncate_to(self, offset: int) -> None:
        """Drop the first transaction that ends at or after the offset, and all that follow."""
        aborted = self.aborted()
        kept = next((slot for slot, txn in enumerate(aborted) if txn.last_offset >= offset), len(aborted))
        if kept < len(aborted):
            self._cut(kept * txn_index.ENTRY.size)

    def reset(self) -> None:
        """Drop all transactions."""
        self._cut(0)

    def flush(self) -> None:
        """Sync the transactions to disk."""
        if (file := self._open()) is not None:
            file.fsync()

    def rename(self, path: Path) -> None:
        """Move the file, if there is one."""
        if self._filesystem.exists(self.path):
            self._filesystem.rename(self.path, path)
        self.path = path

    def _cut(self, size: int) -> None:
        if (file := self._open()) is not None:
            file.truncate(size)

    def _open(self, *, create: bool = False) -> File | None:
        if (file := self._file) is not None:  # kept in a variable, since it may be released at any time
            return file
        exists = self._filesystem.exists(self.path)
        if not exists and not create:
            return None
        self._file = file = self._filesystem.open(self.path, create=create)
        self.is_new = self.is_new or not exists
        OPEN_FILES.opened(self)
        return file
