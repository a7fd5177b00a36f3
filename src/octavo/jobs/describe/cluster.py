"""Describes log directories as a whole: their cluster and nodes, their topics, and the transactions open in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from octavo.coordinator.transactions.log import last_states
from octavo.format import kafka_uuid
from octavo.format.names import CLEAN_SHUTDOWN, TopicPartition
from octavo.jobs.describe import transactions
from octavo.jobs.describe.internal_records import committed_records, noting
from octavo.jobs.describe.metadata import ClusterMetadata
from octavo.jobs.describe.topics import TopicDescription, describe_topic
from octavo.jobs.describe.transactions import OpenTransaction
from octavo.jobs.source_configs import source_configs, source_metadata
from octavo.scanner.findings import Note, ScanFindings
from octavo.scanner.log_dirs import Place, open_log_dirs
from octavo.scanner.places.directory import Directory
from octavo.scanner.places.selection import TopicSelection


@dataclass(frozen=True, slots=True)
class DiskDescription:
    """One log directory: the node it belongs to, what it holds, and how it was left."""

    path: str
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None
    partitions: int
    size: int
    not_current: int  # folders of deleted topics, of partitions that move, and strays
    stopped_cleanly: bool


class DescribedCluster:
    """What log directories say about their cluster. `topics` reads each topic on demand.

    `notes` says what could not be read, and `damage_count` counts the damage among it; both are complete once all
    `topics` have been read and then `transactions` has been called.
    """

    def __init__(self, places: Place | Sequence[Place], only: Sequence[str] = ()) -> None:
        self._log_dirs = open_log_dirs(places)
        self._only = TopicSelection.of(only) if only else None
        if self._only is not None:
            self._only.check(self._log_dirs.topic_partitions(), self._log_dirs.shown())
        self._findings = ScanFindings("skip")
        self._findings.notes.extend(self._log_dirs.notes)
        self._findings.damage_count = len(self._log_dirs.unreadable())
        self._open: dict[TopicPartition, tuple[tuple[int, int], ...]] = {}
        roots = [directory.root.location for directory in self._log_dirs.directories]
        self._configs, self._metadata = source_configs(roots), ClusterMetadata.of(source_metadata(roots))

    @property
    def notes(self) -> tuple[Note, ...]:
        return (*self._findings.notes, *self._log_dirs.root_notes())

    @property
    def damage_count(self) -> int:
        return self._findings.damage_count + sum(note.is_damage for note in self._log_dirs.root_notes())

    @property
    def features(self) -> dict[str, int]:
        """The levels of the cluster's features, such as metadata.version; empty without a metadata log."""
        return self._metadata.features

    def disks(self) -> list[DiskDescription]:
        return [_disk(directory) for directory in self._log_dirs.directories]

    def topics(self) -> Iterator[TopicDescription]:
        """The topics in order, or the requested ones."""
        wanted = self._log_dirs.partitions.items()
        for topic, several in groupby(wanted, lambda item: item[0].topic):
            if self._only is None or self._only.wants(TopicPartition(topic, 0)):
                files = [files for _, files in several]
                described = describe_topic(topic, files, self._configs, self._metadata, self._findings)
                self._open |= {part.topic_partition: part.open_transactions for part in described.partitions}
                yield described

    def transactions(self) -> list[OpenTransaction]:
        """The open transactions of the described topics."""
        partitions = self._log_dirs.partitions
        state = [files for partition, files in partitions.items() if partition.topic == transactions.TOPIC]
        records = committed_records(state, self._findings)
        opened = transactions.open_transactions(last_states(records, noting(partitions, self._findings)), self._open)
        if self._only is None:
            return opened
        return [txn for txn in opened if any(map(self._only.wants, (*txn.partitions, *txn.first_offsets)))]


def _disk(directory: Directory) -> DiskDescription:
    meta = directory.root.meta_properties()
    directory_id = None if meta is None or meta.directory_id is None else kafka_uuid.to_text(meta.directory_id)
    files = directory.partitions.values()
    return DiskDescription(
        str(directory.place),
        None if meta is None else meta.cluster_id,
        None if meta is None else meta.node_id,
        directory_id,
        len(directory.partitions),
        sum(segment.log.size for listed in files for segment in listed.segments),
        len(directory.not_current),
        CLEAN_SHUTDOWN in directory.files,
    )
