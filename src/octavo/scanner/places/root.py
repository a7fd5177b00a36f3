"""The small files in a log dir's root: its identity and the offset checkpoints of its partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from octavo.errors import CorruptionError
from octavo.format.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSET_CHECKPOINT,
    CLUSTER_METADATA_TOPIC,
    COMMIT_STORE,
    LOG_START_OFFSET_CHECKPOINT,
    META_PROPERTIES,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    TopicPartition,
)
from octavo.format.small_files import checkpoint, commit_store, meta_properties
from octavo.format.small_files.meta_properties import MetaProperties
from octavo.scanner.findings import Note
from octavo.scanner.places.location import Location

Value = TypeVar("Value")

_LIMITS = {LOG_START_OFFSET_CHECKPOINT, COMMIT_STORE}  # without them readers get what was deleted, or is not yet theirs


class Root:
    """Reads each file once, when first asked for it. A file that is absent or unreadable says nothing, as in Kafka.

    `notes` names the unreadable ones. For a partition's folder alone, the root is the folder around it: it may be
    no log dir at all, and then has none of these files.
    """

    def __init__(self, location: Location) -> None:
        self.location = location
        self.notes: list[Note] = []
        self._read: dict[str, object] = {}

    def meta_properties(self) -> MetaProperties | None:
        return self._once(META_PROPERTIES, meta_properties.decode)

    def log_start_offsets(self) -> Mapping[TopicPartition, int]:
        return self.offsets(LOG_START_OFFSET_CHECKPOINT)

    def recovery_points(self) -> Mapping[TopicPartition, int]:
        return self.offsets(RECOVERY_POINT_CHECKPOINT)

    def high_watermarks(self) -> Mapping[TopicPartition, int]:
        return self.offsets(REPLICATION_OFFSET_CHECKPOINT)

    def cleaner_offsets(self) -> Mapping[TopicPartition, int]:
        return self.offsets(CLEANER_OFFSET_CHECKPOINT)

    def pending_starts(self) -> Mapping[TopicPartition, int]:
        """Where partitions end for readers, since a commit of several partitions that is not done begins there."""
        store = self._once(COMMIT_STORE, commit_store.decode)
        return {} if store is None else store.start_offsets()

    def was_stopped_cleanly(self, topic_partition: TopicPartition) -> bool:
        """Whether a partition's log was closed before its writer ended."""
        # A node recovers its metadata log at each start: the mark does not speak of it.
        return self._once(CLEAN_SHUTDOWN, bool) is not None and topic_partition.topic != CLUSTER_METADATA_TOPIC

    def has_committed(self) -> bool:
        """Whether a commit was decided or done since `pending_starts` was first asked for; it is read anew then.

        Partitions are looked at one after the other: whoever wants all of a commit or nothing looks at all again.
        """
        before = self._once(COMMIT_STORE, commit_store.decode)
        del self._read[COMMIT_STORE]
        return self._once(COMMIT_STORE, commit_store.decode) != before

    def offsets(self, name: str) -> Mapping[TopicPartition, int]:
        """A checkpoint's offsets by its file name."""
        return self._once(name, checkpoint.decode_offsets) or {}

    def _once(self, name: str, decode: Callable[[bytes], Value]) -> Value | None:
        if name not in self._read:
            try:
                self._read[name] = read_small(self.location.child(name), decode)
            except CorruptionError as error:
                self._read[name] = None
                path, is_damage = str(self.location.child(name)), name in _LIMITS
                self.notes.append(Note(path, f"not read: {error.problem}", is_damage))
        return self._read[name]  # type: ignore[return-value]


def read_small(location: Location, decode: Callable[[bytes], Value]) -> Value | None:
    """The file's content as a value; None where there is no such file."""
    try:
        data = location.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CorruptionError(error.strerror or str(error), path=str(location)) from error
    try:
        return decode(data)
    except CorruptionError as error:
        raise error.at(path=str(location)) from None
