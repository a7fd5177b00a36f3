"""The small files in the root of a log directory, such as its identity and the checkpoints of its partitions."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from octavo.errors import CorruptionError
from octavo.format.names import (
    CLEAN_SHUTDOWN,
    CLUSTER_METADATA_TOPIC,
    COMMIT_STORE,
    LOG_START_OFFSET_CHECKPOINT,
    META_PROPERTIES,
    TopicPartition,
)
from octavo.format.small_files import checkpoint, commit_store, meta_properties
from octavo.format.small_files.meta_properties import MetaProperties
from octavo.scanner.findings import Note
from octavo.scanner.places.location import Location

_Value = TypeVar("_Value")

_LIMITS = {LOG_START_OFFSET_CHECKPOINT, COMMIT_STORE}  # without them readers would get deleted or uncommitted records


class Root:
    """Reads each file when it is first needed, and keeps it. A missing or unreadable file counts as empty.

    `notes` lists the unreadable ones. If only a partition's folder was given, the root is the folder that contains it,
    which need not be a log directory.
    """

    def __init__(self, location: Location) -> None:
        self.location = location
        self.notes: list[Note] = []
        self.node: Sequence[Root] = (self,)  # all roots that are read as the disks of one node
        self._read: dict[str, object] = {}

    def again(self) -> Root:
        """The same root, and the others of its node, with nothing read yet."""
        fresh = [Root(root.location) for root in self.node]
        make_one_node(fresh)
        return fresh[self.node.index(self)]

    def meta_properties(self) -> MetaProperties | None:
        return self._once(META_PROPERTIES, meta_properties.decode)

    def pending_starts(self) -> Mapping[TopicPartition, int]:
        """Where partitions end for readers, because an unfinished commit to several partitions begins there.

        The commit's file may be in any root of the node.
        """
        stores = [root._once(COMMIT_STORE, commit_store.decode) for root in self.node]
        return dict(ChainMap(*[store.start_offsets() for store in stores if store is not None]))

    def was_stopped_cleanly(self, topic_partition: TopicPartition) -> bool:
        """Whether a partition's log was closed before its writer ended."""
        # A node recovers its metadata log at each start, so the mark of a clean stop says nothing about that log.
        return self._once(CLEAN_SHUTDOWN, bool) is not None and topic_partition.topic != CLUSTER_METADATA_TOPIC

    def has_committed(self) -> bool:
        """Whether the store of commits has changed since it was last read; reads it again.

        Partitions are looked at one after the other, and the change may be a commit to several: to see all of it or
        none of it, look at all of them again.
        """
        before = self._once(COMMIT_STORE, commit_store.decode)
        del self._read[COMMIT_STORE]
        return self._once(COMMIT_STORE, commit_store.decode) != before

    def offsets(self, name: str) -> Mapping[TopicPartition, int]:
        """The offsets of the checkpoint with this file name."""
        return self._once(name, checkpoint.decode_offsets) or {}

    def _once(self, name: str, decode: Callable[[bytes], _Value]) -> _Value | None:
        if name not in self._read:
            try:
                self._read[name] = read_small(self.location.child(name), decode)
            except CorruptionError as error:
                self._read[name] = None
                path, is_damage = str(self.location.child(name)), name in _LIMITS
                self.notes.append(Note(path, f"not read: {error.problem}", is_damage))
        return self._read[name]  # type: ignore[return-value]


def make_one_node(roots: Sequence[Root]) -> None:
    """Say that these are all roots of one node."""
    for root in roots:
        root.node = roots


def read_small(location: Location, decode: Callable[[bytes], _Value]) -> _Value | None:
    """A small file's decoded content; None if the file does not exist. Raises if it is damaged or unreadable."""
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
