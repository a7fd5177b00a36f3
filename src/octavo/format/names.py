"""Builds and parses the names of the files and folders in a log directory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple, Self, TypeVar

from octavo.errors import CorruptionError, EncodingError, InvalidTopicError
from octavo.format.java.text import parse_integer, shortened
from octavo.kernels.integers import INT32_MAX, INT64_MAX

# In the root of a log directory.
META_PROPERTIES = "meta.properties"
RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT = "log-start-offset-checkpoint"
REPLICATION_OFFSET_CHECKPOINT = "replication-offset-checkpoint"
CLEANER_OFFSET_CHECKPOINT = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"
BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
REMOTE_LOG_INDEX_CACHE = "remote-log-index-cache"
# Octavo's own files; brokers ignore files they don't know.
TOPIC_STORE = "octavo-topics.json"  # ids and configs of topics
PRODUCER_ID_STORE = "octavo-producer-ids.json"  # where the next block of producer ids begins
SECURITY_STORE = "octavo-security.json"  # ACLs, and the credentials of SCRAM users
BROKER_STORE = "octavo-broker.json"  # the broker's configs that were set while it ran
GROUP_STORE = "octavo-groups.json"  # the configs of groups
QUOTA_STORE = "octavo-quotas.json"  # the quotas of clients
COMMIT_STORE = "octavo-commits.json"  # commits to several partitions
OWN_STORES = frozenset(
    {TOPIC_STORE, PRODUCER_ID_STORE, SECURITY_STORE, BROKER_STORE, GROUP_STORE, QUOTA_STORE, COMMIT_STORE}
)

OFFSET_CHECKPOINTS = (
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    CLEANER_OFFSET_CHECKPOINT,
)

# In a partition's folder.
LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
QUORUM_STATE = "quorum-state"

TEMPORARY_SUFFIX = ".tmp"  # of a small file being written, before it is renamed into place

CLUSTER_METADATA_TOPIC = "__cluster_metadata"
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
# Chosen only by name or folder; patterns match them only in a consumer whose exclude.internal.topics is off.
UNNAMED_TOPICS = INTERNAL_TOPICS | {CLUSTER_METADATA_TOPIC}
ADMIN_CLIENT_ID = "__admin_client"  # the client that may write to INTERNAL_TOPICS

MAX_TOPIC_LENGTH = 249
MAX_FOLDER_NAME_LENGTH = 255

_Topic = TypeVar("_Topic", str, bytes)
_Item = TypeVar("_Item")

_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")
_UNIQUE_ID = re.compile(r"[0-9a-f]{32}")
_WHITESPACE = re.compile(r"[ \t\n\x0b\f\r]")


class FileKind(StrEnum):
    """The files of a segment, by suffix. A snapshot belongs to the segment that begins at its offset."""

    LOG = ".log"
    OFFSET_INDEX = ".index"
    TIME_INDEX = ".timeindex"
    TXN_INDEX = ".txnindex"
    PRODUCER_SNAPSHOT = ".snapshot"


class Transient(StrEnum):
    """The suffix after the full name of a file that is being added or removed; other files have none."""

    NONE = ""
    DELETED = ".deleted"  # scheduled for deletion
    CLEANED = ".cleaned"  # output of compaction, an upgrade or a split; it may be incomplete
    SWAP = ".swap"  # complete, to replace the segments it was made from


class FolderState(StrEnum):
    """The state that a folder's suffix indicates."""

    CURRENT = ""
    DELETE = "-delete"
    FUTURE = "-future"  # a copy being made from another log directory
    STRAY = "-stray"  # unknown to the cluster's metadata


_SEGMENT_FILE = re.compile(
    r"([0-9]{20})"
    rf"({'|'.join(re.escape(kind) for kind in FileKind)})"
    rf"({'|'.join(re.escape(suffix) for suffix in Transient)})"
)
_STAGED_FILE = re.compile(r"octavo-([0-9a-f]{16})-([0-9a-f]{32})-([0-9]{1,9})\.staged")
_KRAFT_SNAPSHOT = re.compile(r"([0-9]{20})-([0-9]{10})(?:\.checkpoint(\.deleted)?|(-.*)\.checkpoint\.part)", re.DOTALL)


class SegmentFile(NamedTuple):
    """A file that belongs to a segment, e.g. `00000000000000000042.log.deleted`."""

    base_offset: int
    kind: FileKind
    transient: Transient = Transient.NONE

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """The parts of a name; None if it is not a segment file's."""
        match = _SEGMENT_FILE.fullmatch(name)
        if match is None or int(match[1]) > INT64_MAX:
            return None
        return cls(int(match[1]), FileKind(match[2]), Transient(match[3]))

    @property
    def name(self) -> str:
        if not 0 <= self.base_offset <= INT64_MAX:
            raise EncodingError(f"base offset {self.base_offset} is not in the range 0 to {INT64_MAX}")
        return f"{self.base_offset:020}{self.kind}{self.transient}"


class KRaftSnapshot(NamedTuple):
    """A snapshot of the cluster's metadata, `<end offset>-<epoch>.checkpoint`: a file in the format of a log."""

    end_offset: int
    epoch: int
    deleted: bool = False
    partial: bool = False  # still being written: such a name contains a random part

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """The parts of a name; None if it is not such a snapshot's."""
        match = _KRAFT_SNAPSHOT.fullmatch(name)
        if match is None or int(match[1]) > INT64_MAX or int(match[2]) > INT32_MAX:
            return None
        return cls(int(match[1]), int(match[2]), deleted=match[3] is not None, partial=match[4] is not None)


class StagedFile(NamedTuple):
    """Finished batches waiting for their commit, e.g. `octavo-<writer>-<attempt>-0.staged`.

    The name does not begin with a digit: Kafka's loader deletes any file whose number lies in the range of a swap.
    """

    writer: str  # 16 hex digits: the writer that commits them
    attempt: str  # 32 hex digits: the attempt at a task that wrote them
    number: int  # counts the attempt's files

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """The parts of a name; None if it is not a staged file's."""
        match = _STAGED_FILE.fullmatch(name)
        return None if match is None else cls(match[1], match[2], int(match[3]))

    @property
    def name(self) -> str:
        """The file's name."""
        return f"octavo-{self.writer}-{self.attempt}-{self.number}.staged"


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


Partition = TopicPartition | tuple[str, int]  # as callers may give it


def as_topic_partition(given: Partition) -> TopicPartition:
    """A caller's pair as a TopicPartition; a string is refused, since one of two letters would pass for a pair."""
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise TypeError(f"{given!r} is not a partition, expected a pair such as ('orders', 0)")
    return TopicPartition(*given)


def by_topic(pairs: Iterable[tuple[_Topic, _Item]]) -> dict[_Topic, list[_Item]]:
    """The items of each topic, from pairs of a topic (its name or id) and an item, in the order given."""
    found: dict[_Topic, list[_Item]] = {}
    for topic, item in pairs:
        found.setdefault(topic, []).append(item)
    return found


class PartitionFolder(NamedTuple):
    """A partition's folder. In all states but CURRENT its name includes a random id of 32 hex digits."""

    topic: str  # truncated in a DELETE or STRAY folder whose name would be too long
    partition: int
    state: FolderState = FolderState.CURRENT
    unique_id: str = ""

    @classmethod
    def parse(cls, name: str) -> Self:
        """The parts of a folder's name. Kafka refuses to start on a log directory with a folder of any other name,
        except `remote-log-index-cache`."""
        state = next((state for state in FolderState if state and name.endswith(state)), FolderState.CURRENT)
        stem, unique_id = name, ""
        if state:
            if not _has_id(name.removesuffix(state)):
                raise _folder_error(name)
            stem, _, unique_id = name.removesuffix(state).rpartition(".")
        topic, _, partition = stem.rpartition("-")
        if not topic:
            raise _folder_error(name)
        try:
            return cls(topic, parse_integer(partition, 32), state, unique_id)
        except CorruptionError as error:
            raise _folder_error(name) from error

    @property
    def name(self) -> str:
        check_topic(self.topic)
        if not 0 <= self.partition <= INT32_MAX:
            raise EncodingError(f"partition {self.partition} is not in the range 0 to {INT32_MAX}")
        if self.state is FolderState.CURRENT:
            return f"{self.topic}-{self.partition}"
        if not _UNIQUE_ID.fullmatch(self.unique_id):
            raise EncodingError(f"a {self.state} folder needs an id of 32 hex digits, found {self.unique_id!r}")
        ending = f"-{self.partition}.{self.unique_id}{self.state}"
        # Kafka does not truncate the name of a future folder, which will be renamed to the plain name.
        topic = self.topic if self.state is FolderState.FUTURE else self.topic[: MAX_FOLDER_NAME_LENGTH - len(ending)]
        return f"{topic}{ending}"

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition that the folder holds."""
        return TopicPartition(self.topic, self.partition)


def _has_id(stem: str) -> bool:
    """Whether a dash and, somewhere after it, a dot stand between other characters: Kafka's pattern in linear time."""
    dash = stem.find("-", 1)
    return dash > 0 and stem.find(".", dash + 2, -1) > 0 and not _WHITESPACE.search(stem)


def _folder_error(name: str) -> CorruptionError:
    return CorruptionError(
        f"folder name {shortened(name)}, expected <topic>-<partition>, or <topic>-<partition>.<id> with the ending "
        "-delete, -future or -stray"
    )


def base_offset_of(name: str) -> int:
    """The number before the first dot, which is how Kafka's tools read it from any file name."""
    prefix, dot, _ = name.partition(".")
    if not dot:
        raise CorruptionError(f"file name {shortened(name)}, expected <offset>.<suffix>")
    return parse_integer(prefix, 64)


def snapshot_id_of(name: str) -> tuple[int, int]:
    """End offset and epoch by their positions in the name, which is how Kafka's tools read any `.checkpoint` file
    name."""
    if len(name) < 31:
        raise CorruptionError(f"file name {shortened(name)}, expected <end offset>-<epoch>.checkpoint")
    return parse_integer(name[:20], 64), parse_integer(name[21:31], 32)


def is_ignored_folder(name: str) -> bool:
    """Whether Kafka's log manager ignores a folder in a log directory; any other must have a partition's name."""
    if name == REMOTE_LOG_INDEX_CACHE:
        return True
    return PartitionFolder.parse(name).topic == CLUSTER_METADATA_TOPIC


def topic_problem(topic: str) -> str | None:
    """What is wrong with a topic's name; None if it is valid."""
    if not topic:
        return "the empty string is not allowed"
    if topic in (".", ".."):
        return f"'{topic}' is not allowed"
    if len(topic) > MAX_TOPIC_LENGTH:
        return f"{len(topic)} characters are more than the {MAX_TOPIC_LENGTH} allowed"
    if not _TOPIC.fullmatch(topic):
        return f"{topic!r} has characters other than ASCII letters, digits, '.', '_' and '-'"
    return None


def check_topic(topic: str) -> None:
    """Refuse an invalid topic name."""
    problem = topic_problem(topic)
    if problem is not None:
        raise EncodingError(f"topic name is invalid: {problem}")


def check_writable(topic: str, client_id: str = "") -> None:
    """Refuse a topic that clients may not write to, because its records belong to Kafka's coordinators or
    controllers."""
    if topic == CLUSTER_METADATA_TOPIC or (topic in INTERNAL_TOPICS and client_id != ADMIN_CLIENT_ID):
        raise InvalidTopicError(f"topic {topic} is internal: clients may not write to it")


def collide(topic: str, other: str) -> bool:
    """Whether the metrics of two topics would have the same name: the topics differ only in '.' and '_'."""
    return topic.replace(".", "_") == other.replace(".", "_")
