"""The commit stores of all directories as one: commits done in any of them, and the one that is pending."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from octavo.format.names import COMMIT_STORE, TopicPartition
from octavo.format.small_files import commit_store
from octavo.format.small_files.commit_store import CommitStore, PendingCommit, PendingPart, PendingTopic
from octavo.storage.files.small_file import read_file, replace_file
from octavo.system.filesystem import FileSystem


class CommitLedger:
    """Reads the files once, then writes the file in the directory that has the pending commit, or else in the first
    one.

    Only the owner of the directories' locks may write. A file is replaced as a whole: a commit is decided when `decide`
    has written it, and done when `conclude` has.
    """

    def __init__(self, filesystem: FileSystem, roots: Sequence[Path]) -> None:
        self.roots = roots
        self._filesystem = filesystem
        self._stores = [read_store(filesystem, root) for root in roots]

    @property
    def pending(self) -> PendingCommit | None:
        return next((store.pending for store in self._stores if store.pending is not None), None)

    def pending_parts(self) -> tuple[PendingPart, ...]:
        """What the pending commit appends to each partition."""
        return self.pending.parts if self.pending else ()

    def pending_topics(self) -> tuple[PendingTopic, ...]:
        """The topics that the pending commit creates first."""
        return self.pending.topics if self.pending else ()

    def pending_files(self) -> set[str]:
        """The names of the staged files that the pending commit needs."""
        return {file.name for part in self.pending_parts() for file in part.files}

    def pending_partitions(self) -> list[TopicPartition]:
        """All partitions that the pending commit creates or appends to."""
        made = [topic_partition for topic in self.pending_topics() for topic_partition in topic.topic_partitions()]
        return [*made, *(part.topic_partition for part in self.pending_parts())]

    @property
    def swept_ms(self) -> int:
        return max(store.swept_ms for store in self._stores)

    def has_done(self, writer: str, batch_id: int | None) -> bool:
        """Whether a batch was committed before."""
        return any(store.has_done(writer, batch_id) for store in self._stores)

    def decide(self, commit: PendingCommit) -> None:
        """Decide the commit: from here on it will be completed, whatever happens, unless it is undone."""
        self._write(replace(self._stores[self._slot], pending=commit))

    def conclude(self) -> None:
        """Record that the pending commit is done."""
        store = self._stores[self._slot]
        done = dict(store.done)
        if store.pending is not None and store.pending.batch_id is not None:
            done[store.pending.writer] = store.pending.batch_id
        self._write(replace(store, done=done, pending=None))

    def revoke(self) -> None:
        """Record that the pending commit was undone."""
        self._write(replace(self._stores[self._slot], pending=None))

    def note_sweep(self, now_ms: int) -> None:
        self._write(replace(self._stores[self._slot], swept_ms=now_ms))

    @property
    def _slot(self) -> int:
        """The root whose file is written: the one with the pending commit, otherwise the first."""
        return next((slot for slot, store in enumerate(self._stores) if store.pending is not None), 0)

    def _write(self, store: CommitStore) -> None:
        slot = self._slot
        replace_file(self._filesystem, self.roots[slot] / COMMIT_STORE, commit_store.encode(store))
        self._stores[slot] = store


def read_store(filesystem: FileSystem, root: Path) -> CommitStore:
    """The content of a directory's file; empty if there is none. Raises if the file cannot be understood."""
    return read_file(filesystem, root / COMMIT_STORE, commit_store.decode) or CommitStore()
