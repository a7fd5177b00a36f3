"""`octavo describe`: what a log directory says about its cluster, its topics and their configs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from octavo.format.names import TopicPartition
from octavo.jobs.describe.cluster import DescribedCluster
from octavo.jobs.describe.metadata import ClusterMetadata, PartitionReplicas
from octavo.storage.topics.metadata_configs import metadata_records
from octavo.system.filesystem import LocalFileSystem
from tests.cli.owners import rows
from tests.cli.runs import octavo
from tests.cli.terminal import octavo_on_terminal
from tests.golden.archives import unpack
from tests.scanner.segments import write_segment
from tests.storage.batches import batch


def described(*places: Path, topic: str | None = None) -> dict[str, list[dict[str, Any]]]:
    chosen = ("--topic", topic) if topic else ()
    kinds: dict[str, list[dict[str, Any]]] = {"disk": [], "topic": [], "transaction": []}
    for row in rows(octavo("describe", *map(str, places), *chosen, "--json")):
        kinds[row.pop("kind")].append(row)
    return kinds


def test_whose_disk_it_is() -> None:
    place = unpack("v431-clean")
    (disk,) = described(place)["disk"]
    assert disk["path"] == str(place)
    assert (disk["clusterId"], disk["nodeId"]) == ("b2N0YXZvLWdvbGRlbi0wMQ", 1)
    assert disk["directoryId"] == "2ALQ2FiLQtSsqUVkZ8sP7g"
    assert (disk["partitions"], disk["notCurrent"], disk["stoppedCleanly"]) == (48, 1, True)
    assert disk["features"]["metadata.version"] == 30


def test_the_disks_of_a_node() -> None:
    root = unpack("v431-two-dirs")
    disks = described(root / "disk1", root / "disk2")["disk"]
    assert len({disk["directoryId"] for disk in disks}) == 2
    assert len({disk["clusterId"] for disk in disks}) == 1


def test_configs_in_force_and_where_they_come_from() -> None:
    (topic,) = described(unpack("v431-clean"), topic="compact.and-delete")["topic"]
    configs = topic["configs"]
    assert configs["cleanup.policy"] == {"value": "compact,delete", "source": "__cluster_metadata-0"}
    assert configs["min.insync.replicas"] == {"value": "1", "source": "__cluster_metadata-0: min.insync.replicas"}
    assert configs["retention.ms"] == {"value": "604800000", "source": "default"}
    # The test broker was given tiny segments, which Kafka allows only under another name.
    assert configs["segment.bytes"]["source"] == "__cluster_metadata-0: internal.segment.bytes"


def test_configs_of_our_own_file(store: Path) -> None:
    assert octavo("alter", str(store), "--topic", "t", "--config", "retention.ms=86400000").exit == 0
    (topic,) = described(store, topic="t")["topic"]
    assert topic["configs"]["retention.ms"] == {"value": "86400000", "source": "octavo-topics.json"}
    assert topic["configs"]["retention.bytes"]["source"] == "default"


def test_partitions_offsets_and_epochs() -> None:
    (topic,) = described(unpack("v431-clean"), topic="codec.none")["topic"]
    first, second = topic["partitions"]
    assert (first["logStartOffset"], first["logEndOffset"], first["highWatermark"]) == (0, 620, 620)
    assert first["leaderEpochs"] == [{"epoch": 0, "startOffset": 0}, {"epoch": 2, "startOffset": 600}]
    assert (first["magics"], first["replicas"], first["leader"]) == ([2], [1], -1)
    assert second["partition"] == 1


@pytest.mark.parametrize(("archive", "magics"), [("v0821", {0}), ("v01022", {1}), ("upgrade-mixed", {0, 1, 2})])
def test_the_formats_of_old_brokers(archive: str, magics: set[int]) -> None:
    topics = described(unpack(archive))["topic"]
    assert {magic for topic in topics for part in topic["partitions"] for magic in part["magics"]} == magics


def test_open_transactions() -> None:
    first, second = described(unpack("v431-clean"))["transaction"]
    assert (first["transactionalId"], first["producerId"], first["state"]) == ("tx-3", 1003, "Ongoing")
    assert first["firstOffsets"] == [
        {"topic": "txn.orders-1", "partition": 0, "offset": 177},
        {"topic": "txn.orders-1", "partition": 1, "offset": 145},
    ]
    assert second["transactionalId"] == "tx-12"
    (only,) = described(unpack("v431-clean"), topic="compact.txn-open")["transaction"]
    assert only["transactionalId"] == "tx-12"


def test_a_hanging_transaction_has_no_transactional_id(tmp_path: Path) -> None:
    (tmp_path / "txn.orders-1-0").symlink_to(unpack("v431-clean") / "txn.orders-1-0")
    (found,) = described(tmp_path)["transaction"]
    assert (found["transactionalId"], found["producerId"], found["state"]) == (None, 1003, None)


def test_replicas_follow_the_changes_in_the_metadata() -> None:
    records = metadata_records(LocalFileSystem(), unpack("v431-killed"))
    replicas = ClusterMetadata.of(records).replicas
    assert replicas[TopicPartition("crash.plain", 0)] == PartitionReplicas((1,), (1,), 1)


def test_the_tables_fit_a_terminal() -> None:
    for arguments in ((), ("--topic", "codec.none")):
        lines = octavo_on_terminal(80, "describe", str(unpack("v431-clean")), *arguments).splitlines()
        assert max(map(len, lines)) <= 80


def test_a_narrow_terminal_still_shows_the_cluster_and_the_configs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    octavo("create", "disk", "--topic", "orders.of.customers", "--config", "cleanup.policy=compact")
    octavo("alter", "disk", "--topic", "orders.of.customers", "--config", "delete.retention.ms=600000")
    octavo("alter", "disk", "--topic", "orders.of.customers", "--config", "unclean.leader.election.enable=false")
    out = octavo_on_terminal(80, "describe", "disk")
    assert (tmp_path / "disk" / "meta.properties").read_text().partition("cluster.id=")[2].split()[0] in out
    shown = " ".join(out[out.index("configs that are set") :].split())
    assert "cleanup.policy=compact, delete.retention.ms=600000 (10 min), unclean.leader.election.enable=false" in shown


def test_a_terminal_shows_larger_units() -> None:
    """In a pipe and as JSON the numbers have no units."""
    line = "describe", str(unpack("v431-clean")), "--topic", "codec.none"
    seen, piped = octavo_on_terminal(200, *line), octavo(*line).stdout
    (topic,) = described(unpack("v431-clean"), topic="codec.none")["topic"]
    size = topic["partitions"][0]["bytes"]
    assert f" {size} ({size / 1024:.1f} KiB) " in seen
    assert [row.split()[1:4] for row in seen.splitlines() if row.startswith("retention.ms ")] == [
        ["604800000", "(7", "d)"]
    ]
    assert [row.split() for row in piped.splitlines() if row.startswith("retention.ms ")] == [
        ["retention.ms", "604800000", "default"]
    ]
    disks, topics = octavo_on_terminal(200, "describe", str(unpack("v431-clean"))).split("\ntopic  ")
    assert "KiB)" in disks
    assert "KiB)" in topics
    assert "segment.bytes=104857600 (100 MiB)" in topics


def test_a_table_names_what_is_set_and_what_is_open() -> None:
    out = octavo("describe", str(unpack("v431-clean"))).stdout
    assert "compact.and-delete" in out
    assert "cleanup.policy=compact,delete, delete.retention.ms=3000" in out
    assert "txn.orders-1-0: 177" in out
    assert octavo("describe", str(unpack("seed-004-log-format"))).stdout.splitlines()[-1] == "no open transactions"


def test_a_damaged_checkpoint_is_damage(store: Path) -> None:
    assert octavo("describe", str(store)).exit == 0
    checkpoint = store / "log-start-offset-checkpoint"
    checkpoint.write_text("garbage")
    run = octavo("describe", str(store))
    assert run.exit == 1
    assert f"octavo: {checkpoint}: not read: " in run.stderr


def test_an_unknown_topic_is_refused() -> None:
    run = octavo("describe", str(unpack("v431-clean")), "--topic", "codec.non")
    assert run.exit == 1
    assert "codec.none" in run.stderr


def test_a_partition_that_is_deleted_meanwhile_is_only_noted(tmp_path: Path) -> None:
    for name in ("gone-0", "kept-0"):
        write_segment(tmp_path / name, 0, batch(0))
    cluster = DescribedCluster(tmp_path)
    shutil.rmtree(tmp_path / "gone-0")
    assert {topic.topic: len(topic.partitions) for topic in cluster.topics()} == {"gone": 0, "kept": 1}
    (note,) = cluster.notes
    assert "deleted or renamed while it was read" in note.sentence
    assert cluster.damage_count == 0
