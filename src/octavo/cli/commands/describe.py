"""`octavo describe`: the cluster, its topics and open transactions, from the files of a log directory."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.cli.options import command as declare
from octavo.cli.options import (
    echo,
    json_option,
    logdirs_argument,
    print_json,
    say_notes,
    topics_option,
    unpacked_option,
)
from octavo.cli.table import TableColumn, fitted, iso_time, print_table
from octavo.cli.units import config_cell, size_cell
from octavo.format.names import TOPIC_STORE
from octavo.jobs.describe.cluster import DescribedCluster, DiskDescription
from octavo.jobs.describe.topics import PartitionDescription, TopicDescription
from octavo.jobs.describe.transactions import OpenTransaction
from octavo.storage.topics.metadata_configs import METADATA_FOLDER
from octavo.storage.topics.topic_configs import DEFAULT_SOURCE

_DISKS = (
    TableColumn("disk"),
    TableColumn("cluster", importance=5),
    TableColumn("node", right=True),
    TableColumn("directoryId", importance=3),
    TableColumn("partitions", right=True, importance=4),
    TableColumn("bytes", right=True, importance=1),  # each topic's are below
    TableColumn("notCurrent", right=True, importance=2),
    TableColumn("stopped", importance=6),
)
_TOPICS = (
    TableColumn("topic"),
    TableColumn("partitions", right=True, importance=2),
    TableColumn("bytes", right=True),
    TableColumn("formats", importance=1),
    TableColumn("configs that are set", wraps=True),
)
_PARTITIONS = (
    TableColumn("partition"),
    TableColumn("disk", importance=1),
    TableColumn("segments", right=True, importance=5),
    TableColumn("bytes", right=True),
    TableColumn("start", right=True),
    TableColumn("end", right=True),
    TableColumn("stable", right=True, importance=7),
    TableColumn("highWatermark", right=True, importance=4),
    TableColumn("epoch", right=True, importance=6),
    TableColumn("replicas", importance=3),
    TableColumn("isr", importance=2),
)
_SOURCES_OF_TOPICS = (TOPIC_STORE, METADATA_FOLDER)
_CONFIGS = TableColumn("config"), TableColumn("value"), TableColumn("source", importance=1)
_TRANSACTIONS = (
    TableColumn("transactionalId"),
    TableColumn("producerId", right=True),
    TableColumn("state"),
    TableColumn("since", importance=2),
    TableColumn("open from offset", importance=1),
)


@declare("describe")
@logdirs_argument
@topics_option
@json_option
@unpacked_option
def command(logdirs: tuple[str, ...], topics: tuple[str, ...], as_json: bool) -> int:
    """Show what LOGDIR says about its cluster: node, disks, topics, configs in force, open transactions.

    Everything comes from the files, without a lock, even while a broker runs on them. With --topic: the topic's
    partitions with their offsets, leader epochs and replicas, and all its configs with the source of each. What is set
    only in a broker's server.properties is not on its disks, so Kafka's default is shown for it.
    """
    found = DescribedCluster(logdirs, topics)
    described = list(found.topics())
    transactions = found.transactions()
    say_notes(found.notes)
    if as_json:
        for disk in found.disks():
            print_json({"kind": "disk", **_disk_fields(disk), "features": found.features})
        for topic in described:
            print_json({"kind": "topic", **_topic_fields(topic)})
        for transaction in transactions:
            print_json({"kind": "transaction", **_transaction_fields(transaction)})
    elif topics:
        _print_topics(described)
        _print_transactions(transactions)
    else:
        _print_cluster(found, described)
        _print_transactions(transactions)
    return 1 if found.damage_count else 0


def _print_cluster(found: DescribedCluster, topics: Sequence[TopicDescription]) -> None:
    print_table(_DISKS, [_disk_cells(disk) for disk in found.disks()])
    if found.features:
        levels = ", ".join(f"{name} {level}" for name, level in sorted(found.features.items()))
        print()
        for line in fitted("features  ", levels):
            echo(line)
    print()
    print_table(_TOPICS, [_topic_cells(topic) for topic in topics])


def _print_topics(topics: Sequence[TopicDescription]) -> None:
    """Print everything about each topic; configs that are not set anywhere come last."""
    for number, topic in enumerate(topics):
        print("\n" if number else "", end="")
        echo(f"{topic.topic}, id {topic.topic_id or '-'}")
        print_table(_PARTITIONS, [_partition_cells(partition) for partition in topic.partitions])
        configs = [(name, config_cell(name, found.value or "-"), found.source) for name, found in topic.configs.items()]
        print()
        print_table(_CONFIGS, sorted(configs, key=lambda row: row[2] == DEFAULT_SOURCE))


def _print_transactions(transactions: Sequence[OpenTransaction]) -> None:
    print()
    if not transactions:
        echo("no open transactions")
        return
    rows = [
        (
            transaction.transactional_id,
            transaction.producer_id,
            transaction.state,
            None if transaction.start_ms is None else iso_time(transaction.start_ms),
            [f"{partition}: {offset}" for partition, offset in transaction.first_offsets.items()],
        )
        for transaction in transactions
    ]
    print_table(_TRANSACTIONS, rows)


def _disk_cells(disk: DiskDescription) -> tuple[object, ...]:
    stopped = "cleanly" if disk.stopped_cleanly else "no: in use, or crashed"
    identity = disk.path, disk.cluster_id, disk.node_id, disk.directory_id
    return *identity, disk.partitions, size_cell(disk.size), disk.not_current, stopped


def _topic_cells(topic: TopicDescription) -> tuple[object, ...]:
    # Other sources hold values for all topics of a broker.
    own = {name: str(found.value) for name, found in topic.configs.items() if found.source in _SOURCES_OF_TOPICS}
    shown = ", ".join(f"{name}={config_cell(name, value)}" for name, value in own.items())
    magics = sorted({magic for partition in topic.partitions for magic in partition.magics})
    size = sum(partition.size for partition in topic.partitions)
    return topic.topic, len(topic.partitions), size_cell(size), [f"v{magic}" for magic in magics], shown or None


def _partition_cells(partition: PartitionDescription) -> tuple[object, ...]:
    last = partition.leader_epochs[-1] if partition.leader_epochs else None
    return (
        partition.topic_partition.partition,
        partition.disk,
        partition.segments,
        size_cell(partition.size),
        partition.log_start_offset,
        partition.log_end_offset,
        partition.last_stable_offset,
        partition.high_watermark,
        None if last is None else f"{last.epoch} from {last.start_offset}",
        partition.placed and partition.placed.replicas,
        partition.placed and partition.placed.isr,
    )


def _disk_fields(disk: DiskDescription) -> dict[str, object]:
    return {
        "path": disk.path,
        "clusterId": disk.cluster_id,
        "nodeId": disk.node_id,
        "directoryId": disk.directory_id,
        "partitions": disk.partitions,
        "bytes": disk.size,
        "notCurrent": disk.not_current,
        "stoppedCleanly": disk.stopped_cleanly,
    }


def _topic_fields(topic: TopicDescription) -> dict[str, object]:
    return {
        "topic": topic.topic,
        "topicId": topic.topic_id,
        "partitions": [_partition_fields(partition) for partition in topic.partitions],
        "configs": {name: config._asdict() for name, config in topic.configs.items()},
    }


def _partition_fields(partition: PartitionDescription) -> dict[str, object]:
    return {
        "partition": partition.topic_partition.partition,
        "disk": partition.disk,
        "segments": partition.segments,
        "bytes": partition.size,
        "logStartOffset": partition.log_start_offset,
        "logEndOffset": partition.log_end_offset,
        "lastStableOffset": partition.last_stable_offset,
        "highWatermark": partition.high_watermark,
        "leaderEpochs": [
            {"epoch": entry.epoch, "startOffset": entry.start_offset} for entry in partition.leader_epochs
        ],
        "magics": list(partition.magics),
        "replicas": partition.placed and list(partition.placed.replicas),
        "isr": partition.placed and list(partition.placed.isr),
        "leader": partition.placed and partition.placed.leader,
    }


def _transaction_fields(transaction: OpenTransaction) -> dict[str, object]:
    return {
        "transactionalId": transaction.transactional_id,
        "producerId": transaction.producer_id,
        "producerEpoch": transaction.epoch,
        "state": transaction.state,
        "startTimestamp": transaction.start_ms,
        "timeoutMs": transaction.timeout_ms,
        "partitions": [partition._asdict() for partition in transaction.partitions],
        "firstOffsets": [
            {**partition._asdict(), "offset": offset} for partition, offset in transaction.first_offsets.items()
        ],
    }
