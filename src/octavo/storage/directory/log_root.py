"""One directory of a `LogManager`: its lock, its identity, whether it was stopped cleanly, its partition folders."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.errors import CorruptionError, EncodingError, KafkaStorageError, LogDirError, LogDirLockedError
from octavo.format.java.text import shortened
from octavo.format.names import (
    CLEAN_SHUTDOWN,
    LOCK,
    META_PROPERTIES,
    REMOTE_LOG_INDEX_CACHE,
    FolderState,
    PartitionFolder,
    SegmentFile,
    TopicPartition,
    is_ignored_folder,
)
from octavo.format.small_files import clean_shutdown, meta_properties
from octavo.format.small_files.meta_properties import MetaProperties
from octavo.storage.directory.checkpoints import OffsetCheckpoints
from octavo.storage.files.small_file import read_file, replace_file
from octavo.system.filesystem import FileSystem, LocalFileSystem, Lock, is_disk_failure
from octavo.system.forks import FORKED
from octavo.system.os_errors import described

if TYPE_CHECKING:
    from octavo.format.messages.records import MetadataRecord

NO_BROKER_EPOCH = -1
ONLY_READ = "or only read the files (octavo.scan; commands cat, topics, verify; broker --read-only)"
_WITHOUT_LOCK = f"{ONLY_READ}, or use --dry-run"

# A topic name stands for all of its partitions.
Only = Collection[TopicPartition | str]

_log = logging.getLogger(__name__)
# The logger whose errors say that a directory (the first argument) is offline, and why (the second).
OFFLINE_LOG = f"{__name__}.offline"
_offline_log = logging.getLogger(OFFLINE_LOG)
_offline_log.addHandler(logging.NullHandler())  # whoever uses such a directory gets the same sentence as an error


class Selection:
    """The partitions that a `LogManager` opens: all of them, or the ones its owner names, which need not exist."""

    def __init__(self, only: Only | None = None) -> None:
        named = [only] if isinstance(only, str) else only
        self.is_all = named is None
        self._topics = {name for name in named or () if isinstance(name, str)}
        self._partitions = {TopicPartition(*name) for name in named or () if not isinstance(name, str)}

    def include(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Add partitions that must be opened too."""
        self._partitions.update(topic_partitions)

    def __contains__(self, topic_partition: TopicPartition) -> bool:
        return self.is_all or topic_partition.topic in self._topics or topic_partition in self._partitions


def lock_directory(root: Path, filesystem: FileSystem | None = None) -> Lock:
    """Take `.lock`, as brokers do: one owner at a time. A `.lock` file that nobody holds keeps nobody out."""
    try:
        return (filesystem or LocalFileSystem()).lock(root / LOCK)
    except BlockingIOError as error:
        hint = f". Stop it first, {_WITHOUT_LOCK}" if error.errno == errno.EAGAIN else ""
        raise LogDirLockedError(f"{root}: in use: {error.strerror}{hint}") from None
    except PermissionError as error:
        raise LogDirError(f"{described(error)}, {_WITHOUT_LOCK}") from None
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        raise OSError(error.errno, f"{error.strerror}; mount it for writing, {_WITHOUT_LOCK}", error.filename) from None


class LogRoot:
    """A directory of partition folders. Before `begin`, nothing is written but its lock and, if missing, the folder and
    its meta.properties.

    Partitions outside the selection are neither opened nor changed: their lines in the checkpoints stay, and after a
    crash the directory does not count as cleanly stopped until they have been recovered, too.
    """

    def __init__(self, path: Path, filesystem: FileSystem, selection: Selection, node_id: int | None = None) -> None:
        self.path = path
        self.node_id = node_id  # of the broker that the directory must belong to; None: any
        self.files = filesystem
        self.selection = selection
        self.failure: str | None = None  # why the directory is offline
        self.is_missing = False  # it will be created with the first topic
        self._meta: MetaProperties | None = None  # None: not read yet, or there is no meta.properties
        self.is_cordoned = False  # it gets no new partitions
        self.metadata_users: list[MetadataRecord] = []  # users, ACLs and quotas in the cluster's metadata
        self.clean = False
        self.partitions: set[TopicPartition] = set()  # every partition with a folder, opened or not
        self.folders: list[PartitionFolder] = []  # as last listed
        self.deleted_folders: list[Path] = []  # folders of deleted partitions, to be removed
        self.has_unopened = False  # some folders were not opened
        self._unread: set[TopicPartition] = set()  # selected, but not readable
        self.checkpoints = OffsetCheckpoints(filesystem, path, self.partitions, self._is_opened)
        self.on_offline: Callable[[], None] = lambda: None
        self._lock: Lock | None = None
        self._made: list[Path] = []  # what `make` created: the directory, then its parents

    @property
    def is_live(self) -> bool:
        """Whether the directory can be used: it exists, and its disk has not failed."""
        return self.failure is None and not self.is_missing

    @property
    def has_identity(self) -> bool:
        return self._meta is not None

    @property
    def directory_id(self) -> bytes | None:
        return None if self._meta is None else self._meta.directory_id

    def exists(self) -> bool:
        return self.files.exists(self.path)

    def make(self) -> None:
        """Create the missing directory, and lock it."""
        if self.exists():
            raise LogDirError(f"{self.path}: another program has created it meanwhile; open it again")
        self._made = list(takewhile(lambda folder: not self.files.exists(folder), (self.path, *self.path.parents)))
        self.files.mkdir(self.path)
        for made in self._made:
            self.files.fsync_folder(made.parent)
        self.lock()
        self.is_missing = False

    def lock(self) -> None:
        """Take the directory's lock; refuses a path that is not a log directory."""
        if not self.files.is_folder(self.path):
            found = "it is a file, not a log directory" if self.exists() else "no such directory"
            raise LogDirError(f"{self.path}: {found}")
        self.list_folders()
        self._lock = lock_directory(self.path, self.files)

    @contextmanager
    def using(self) -> Iterator[None]:
        """Turn an OSError into a KafkaStorageError; go offline if it is a disk failure (`is_disk_failure`)."""
        if self.failure is not None:
            raise KafkaStorageError(f"{self.path} is offline: {self.failure}")
        try:
            yield
        except OSError as error:
            if not is_disk_failure(error):
                raise KafkaStorageError(described(error)) from error
            self.take_offline(error)
            raise KafkaStorageError(f"{self.path} is offline: {self.failure}") from error

    @contextmanager
    def unless_offline(self) -> Iterator[None]:
        """Like `using`, but a disk that fails in the block only ends it, so other directories stay in use."""
        has_begun = False
        try:
            with self.using():
                has_begun = True
                yield
        except KafkaStorageError:
            if not has_begun or self.failure is None:
                raise

    def meta(self) -> MetaProperties | None:
        """The content of meta.properties; None if there is no such file."""
        if self._meta is None:
            self._meta = read_file(self.files, self.path / META_PROPERTIES, meta_properties.decode)
        return self._meta

    def write_meta(self, meta: MetaProperties, now_ms: int) -> None:
        written = datetime.fromtimestamp(now_ms / 1000, UTC)
        replace_file(self.files, self.path / META_PROPERTIES, meta_properties.encode(meta, written))
        self._meta = meta

    def list_folders(self) -> None:
        """List the partitions' folders; like a broker, refuse a folder that no broker would make."""
        if any(SegmentFile.parse(name) for name in self.files.names(self.path)):
            raise LogDirError(f"{self.path}: this is a partition's folder; open the log directory that contains it")
        names = list(self.files.folders(self.path))
        if others := [name for name in names if not _is_of_broker(name)]:
            raise LogDirError(f"{self.path}: {self._problem(others)}")
        self.folders = [PartitionFolder.parse(name) for name in names if not is_ignored_folder(name)]

    def _problem(self, others: list[str]) -> str:
        """What is wrong with folders that no broker makes: perhaps the wrong directory was given."""
        below = sorted(name for name in others if self.files.exists(self.path / name / META_PROPERTIES))
        if below:
            return f"not a log directory, but these folders in it are: {', '.join(map(shortened, below))}"
        name = shortened(min(others))
        if self.files.exists(self.path / META_PROPERTIES):
            return f"{name} is not a folder that a broker makes: move it out of the log directory"
        return f"{name} is not a folder that a broker makes: give a log directory, or an empty folder for a new one"

    def _lost_links(self) -> list[PartitionFolder]:
        """The partitions whose folder is a broken link, for example because its disk is not mounted."""
        links = [name for name in self.files.others(self.path) if self.files.link_target(self.path / name) is not None]
        lost = [name for name in links if not self.files.is_folder(self.path / name) and _is_of_broker(name)]
        folders = [PartitionFolder.parse(name) for name in lost if not is_ignored_folder(name)]
        return [folder for folder in folders if folder.state is FolderState.CURRENT]

    def to_open(self) -> list[PartitionFolder]:
        """The folders of the logs to open."""
        found, lost = self.folders, self._lost_links()
        for folder in lost:
            problem = "it is a link to a folder that does not exist; mount its disk, or correct the link"
            _log.warning("%s is not opened: %s", self.path / folder.name, problem)
            self.leave_unread(folder)
        current = [folder for folder in (*found, *lost) if folder.state is FolderState.CURRENT]
        self.partitions.update(folder.topic_partition for folder in current)
        staying = [folder for folder in found if folder.state is not FolderState.DELETE]
        if self.selection.is_all:
            self.deleted_folders = [self.path / folder.name for folder in found if folder.state is FolderState.DELETE]
            return staying
        opened = [f for f in staying if f.state is FolderState.CURRENT and f.topic_partition in self.selection]
        self.has_unopened = bool(lost) or len(opened) < len(staying)
        return opened

    def begin(self) -> None:
        """Read and remove the mark of a clean stop: without it, the next start recovers. Then read the checkpoints."""
        mark = self.path / CLEAN_SHUTDOWN
        self.clean = self.files.exists(mark)
        if self.clean:
            self.files.unlink(mark)
            self.files.fsync_folder(self.path)
        self.checkpoints.read()

    def leave_unread(self, folder: PartitionFolder) -> None:
        """Treat a partition that could not be loaded like one outside the selection."""
        self.has_unopened = True
        if folder.state is FolderState.CURRENT:
            self._unread.add(folder.topic_partition)

    def _is_opened(self, topic_partition: TopicPartition) -> bool:
        return topic_partition in self.selection and topic_partition not in self._unread

    def mark_clean(self) -> None:
        """Mark a clean stop, unless a crash left logs that were not opened."""
        if self.clean or not self.has_unopened:
            replace_file(self.files, self.path / CLEAN_SHUTDOWN, clean_shutdown.encode(NO_BROKER_EPOCH))

    def take_offline(self, error: OSError) -> None:
        """Stop using the directory, since its disk failed."""
        if self.failure is None:
            self.failure = described(error)
            _offline_log.error("%s is offline: %s", self.path, self.failure)
            self.on_offline()

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def disown(self) -> None:
        """In a forked child: leave the lock to the parent, and refuse to write."""
        self.failure = FORKED
        if self._lock is not None:
            self._lock.disown()
            self._lock = None

    def discard(self) -> None:
        """Unlock an unchanged directory, and remove it if `make` created it."""
        self.unlock()
        with suppress(OSError):  # it is not empty: another process was faster
            for path in self._made:
                self.files.rmdir(path)


def _is_of_broker(name: str) -> bool:
    """Whether a broker makes folders with this name; it never makes `t-00`."""
    try:
        return name == REMOTE_LOG_INDEX_CACHE or PartitionFolder.parse(name).name == name
    except (CorruptionError, EncodingError):
        return False
