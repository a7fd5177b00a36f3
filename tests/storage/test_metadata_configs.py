"""Configs that were set in a running cluster, read from its metadata log: what they apply to, and which one wins."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from octavo.errors import CorruptionError
from octavo.format.names import BROKER_STORE
from octavo.storage.log_manager import LogManager
from octavo.storage.topics.metadata_configs import METADATA_FOLDER
from tests.cli.runs import octavo
from tests.format.crafted import sealed
from tests.storage.batches import batch
from tests.storage.metadata_log import BROKER, TOPIC, write_metadata
from tests.storage.worlds import World


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The directory of node 1, the id that directories without a broker get."""
    with LogManager(tmp_path / "logs", environment=World().environment) as logs:
        logs.create_topic("t", 1)
    return tmp_path / "logs"


def opened(root: Path, **configs: int) -> LogManager:
    given = {name.replace("_", "."): value for name, value in configs.items()}
    return LogManager(root, only=["t"], configs=given, environment=World().environment)


def test_configs_of_the_node_override_those_of_the_cluster(root: Path) -> None:
    write_metadata(
        root,
        (BROKER, "", "log.index.interval.bytes", "100"),
        (BROKER, "", "log.segment.bytes", "2000000"),
        (BROKER, "1", "log.index.interval.bytes", "200"),
        (BROKER, "2", "log.index.interval.bytes", "300"),
        (BROKER, "", "producer.id.expiration.ms", "5000"),
        (BROKER, "", "num.io.threads", "9"),
        (BROKER, "", "log.retention.ms", "7"),
        (BROKER, "", "log.retention.ms", None),
    )
    with opened(root) as logs:
        config = logs.log("t", 0).config
        assert (config.index_interval_bytes, config.segment_bytes, config.retention_ms) == (200, 2000000, 604800000)
        assert logs.broker_config.producer_id_expiration_ms == 5000


def test_the_source_of_a_config_is_that_of_the_value_in_force(root: Path) -> None:
    name = "log.segment.bytes"
    write_metadata(root, (BROKER, "1", name, "2000000"))
    with opened(root) as logs:
        logs.alter_broker_configs({name: "3000000"}, of_cluster=True)
        assert (logs.config("t").segment_bytes, logs.broker_sources.source(name)) == (2000000, METADATA_FOLDER)
        logs.alter_broker_configs({name: "4000000"})
        assert (logs.config("t").segment_bytes, logs.broker_sources.source(name)) == (4000000, BROKER_STORE)
        logs.alter_broker_configs({name: None})
        assert (logs.config("t").segment_bytes, logs.broker_sources.source(name)) == (3000000, BROKER_STORE)


def test_configs_of_a_topic_and_given_ones_override_those_of_brokers(root: Path) -> None:
    write_metadata(
        root,
        (BROKER, "1", "log.index.interval.bytes", "200"),
        (BROKER, "1", "log.segment.bytes", "2000000"),
        (BROKER, "1", "log.retention.ms", "7"),
        (TOPIC, "t", "retention.ms", "8"),
    )
    with opened(root, log_segment_bytes=3000000) as logs:
        logs.alter_configs("t", {"index.interval.bytes": 500})
        config = logs.config("t")
        assert (config.index_interval_bytes, config.segment_bytes, config.retention_ms) == (500, 3000000, 8)


def test_a_directory_that_the_metadata_cordons_gets_no_partitions(root: Path, tmp_path: Path) -> None:
    """Directories of other machines in the configs do not count."""
    write_metadata(root, (BROKER, "1", "cordoned.log.dirs", f"/elsewhere/logs,{root}"))
    other = tmp_path / "other"
    with LogManager([root, other], only=["t"], environment=World().environment) as logs:
        logs.create_topic("new", 2)
        assert {log.folder.parent for name, log in logs.logs.items() if name.topic == "new"} == {other}


def test_the_cleaner_gets_as_many_threads_as_the_metadata_says(root: Path) -> None:
    write_metadata(root, (BROKER, "", "log.cleaner.threads", "3"))
    before = set(threading.enumerate())
    with LogManager(root, only=["t"]):
        started = set(threading.enumerate()) - before
    names = sorted(thread.name for thread in started if thread.name.startswith("octavo-scheduler-"))
    assert names == [f"octavo-scheduler-{number}" for number in range(2 + 3)]


def test_a_copy_is_made_with_the_configs_of_the_metadata(root: Path, tmp_path: Path) -> None:
    """Otherwise the same batches would give other indexes than in the source."""
    write_metadata(root, (BROKER, "", "log.index.interval.bytes", "200"), (BROKER, "", "log.roll.hours", "2"))
    with opened(root) as logs:
        for _ in range(10):
            logs.log("t", 0).append_as_leader(bytearray(batch(0)), leader_epoch=0)
    target = tmp_path / "copy"
    assert octavo("copy", str(root), str(target), "--topic", "t").exit == 0
    for name in (f"{0:020}.index", f"{0:020}.timeindex"):
        assert (target / "t-0" / name).read_bytes() == (root / "t-0" / name).read_bytes() != b""
    with LogManager(target, environment=World().environment) as logs:
        assert (logs.config("t").index_interval_bytes, logs.config("t").segment_ms) == (200, 7_200_000)


def test_a_value_that_no_topic_can_have_is_named_with_its_place(root: Path) -> None:
    write_metadata(root, (TOPIC, "t", "retention.ms", "a week"))
    with pytest.raises(CorruptionError, match=r"__cluster_metadata-0: topic t: retention.ms is 'a week', expected an"):
        opened(root)


def test_records_that_cannot_be_read_are_a_warning(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_metadata(root, (TOPIC, "t", "retention.ms", "5"))
    path = root / "__cluster_metadata-0" / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[61] = 0x7F  # the first record's length
    path.write_bytes(sealed(data))
    with opened(root) as logs:
        assert logs.config("t").retention_ms != 5
    assert f"{path}, position " in caplog.text
    assert "the rest of the file is not read" in caplog.text


def test_a_metadata_log_that_is_a_file_says_nothing(root: Path) -> None:
    (root / "__cluster_metadata-0").write_bytes(b"no folder")
    opened(root).close()
