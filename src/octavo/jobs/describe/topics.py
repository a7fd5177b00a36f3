"""Describes a topic from its files: its partitions, and its effective configs with the source of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from octavo.config import TOPIC_CONFIGS, as_text
from octavo.errors import CorruptionError, ScanError
from octavo.format import kafka_uuid
from octavo.format.names import TopicPartition
from octavo.format.small_files.leader_epochs import EpochEntry
from octavo.jobs.describe.metadata import ClusterMetadata, PartitionReplicas
from octavo.kernels.layout import HEADER_UP_TO_MAGIC, MAGIC_POSITION
from octavo.scanner.findings import ScanFindings
from octavo.scanner.partition.snapshot import PartitionSnapshot, look_at, retrying
from octavo.scanner.partition.transactions import read_transactions
from octavo.scanner.places.files import PartitionFiles
from octavo.scanner.places.location import read_fully
from octavo.scanner.places.segment_log import follow
from octavo.storage.topics.topic_configs import TopicConfigs


class ConfigInForce(NamedTuple):
    """A config's value, and the file it comes from, with its name there if that differs, or `default`."""

    value: str | None
    source: str


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """A partition on these disks; `high_watermark` and `placed` are None if no file has them."""

    topic_partition: TopicPartition
    disk: str
    segments: int
    size: int
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
    high_watermark: int | None
    leader_epochs: tuple[EpochEntry, ...]
    magics: tuple[int, ...]  # of the first batch of each segment
    open_transactions: tuple[tuple[int, int], ...]  # producer ids with first offsets
    placed: PartitionReplicas | None


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic with those of its partitions that are on these disks."""

    topic: str
    topic_id: str | None
    configs: dict[str, ConfigInForce]
    partitions: tuple[PartitionDescription, ...]


def describe_topic(
    topic: str,
    partitions: Iterable[PartitionFiles],
    configs: TopicConfigs,
    metadata: ClusterMetadata,
    findings: ScanFindings,
) -> TopicDescription:
    several = list(partitions)
    described = []
    for files in several:
        try:
            described.append(retrying(files, lambda listed: _partition(listed, metadata, findings)))
        except ScanError as error:  # deleted since it was listed
            findings.note(files.location, f"not read: {error}")
        except OSError as error:
            findings.unreadable(files.location, error)
    return TopicDescription(topic, _topic_id(several, findings), _in_force(topic, configs), tuple(described))


def _partition(files: PartitionFiles, metadata: ClusterMetadata, findings: ScanFindings) -> PartitionDescription:
    snapshot = look_at(files)
    transactions = read_transactions(snapshot)
    findings.take((*snapshot.notes, *transactions.notes))
    try:
        epochs = tuple(files.leader_epochs())
    except CorruptionError as error:
        findings.note(error.path, f"not read: {error.problem}")
        epochs = ()
    return PartitionDescription(
        files.topic_partition,
        str(files.root.location),
        len(snapshot.segments),
        sum(segment.log.size for segment in snapshot.segments),
        snapshot.log_start_offset,
        snapshot.log_end_offset,
        transactions.last_stable_offset,
        snapshot.high_watermark,
        epochs,
        tuple(sorted(_magics(snapshot))),
        transactions.open,
        metadata.replicas.get(files.topic_partition),
    )


def _magics(snapshot: PartitionSnapshot) -> set[int]:
    """The formats of the first batches; a segment rarely has two."""
    found = set()
    for segment in snapshot.segments:
        head = memoryview(bytearray(HEADER_UP_TO_MAGIC))
        with follow(snapshot.files.path(segment)) as log:
            if read_fully(log, head, 0) == len(head) and any(head):
                found.add(head[MAGIC_POSITION])
    return found


def _topic_id(partitions: Iterable[PartitionFiles], findings: ScanFindings) -> str | None:
    ids = (files.topic_id_or_note(findings.notes) for files in partitions)
    return next((kafka_uuid.to_text(topic_id) for topic_id in ids if topic_id is not None), None)


def _in_force(topic: str, configs: TopicConfigs) -> dict[str, ConfigInForce]:
    in_force = configs.of(topic)
    return {
        name: ConfigInForce(
            None if (value := getattr(in_force, key.attribute)) is None else as_text(value), configs.source(topic, name)
        )
        for name, key in TOPIC_CONFIGS.items()
        if not key.internal
    }
