"""Committed offsets after a restart, a failed write, a transaction, a deletion, and some time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from octavo.client.log_dir import LogDir
from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.commit_rules import Committer
from octavo.coordinator.groups.committed import CommittedOffsets
from octavo.coordinator.groups.coordinator import GroupCoordinator
from octavo.coordinator.groups.offsets import OffsetAndMetadata
from octavo.errors import KafkaStorageError
from octavo.format.batches.batch import Origin
from octavo.format.batches.control import ControlType
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode
from octavo.storage.environment import Environment
from octavo.storage.partition_log import PartitionLog
from octavo.system.clock import ManualClock
from tests.storage.open_logs import end_transaction
from tests.storage.worlds import ManualScheduler

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
PLACE = TopicPartition("__consumer_offsets", 0)
DAY_MS = 86_400_000
# Days pass in these tests; without these configs, background work that they do not test would run thousands of times.
SELDOM = dict.fromkeys(
    [
        "replica.high.watermark.checkpoint.interval.ms",
        "log.flush.offset.checkpoint.interval.ms",
        "log.flush.start.offset.checkpoint.interval.ms",
        "log.retention.check.interval.ms",
        "log.cleaner.backoff.ms",
        "producer.id.expiration.check.interval.ms",
    ],
    DAY_MS,
)


class Coordinated:
    """Log directories with a clock that the test moves."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.clock = ManualClock(1_000)
        self.open()

    def open(self) -> None:
        self.scheduler = ManualScheduler(self.clock)
        environment = Environment(self.scheduler, self.clock)
        configs = {"offsets.topic.num.partitions": 1, **SELDOM}
        self.logs = LogDir(self._path, configs=configs, environment=environment, create=True, upkeep=True)

    def reopen(self) -> None:
        self.logs.close()
        self.open()

    @property
    def coordinator(self) -> GroupCoordinator:
        return self.logs.group_coordinator

    @property
    def offsets(self) -> CommittedOffsets:
        return self.coordinator.offsets

    @property
    def log(self) -> PartitionLog:
        return self.logs.logs[PLACE]

    def commit(self, group: str, offset: int, partition: TopicPartition = T0) -> None:
        assert self.offsets.commit(group, {partition: OffsetAndMetadata(offset)}, {}) == set()

    def commit_in_transaction(self, group: str, offset: int, producer_id: int) -> None:
        origin = Origin(producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True)
        self.offsets.commit_transactional(group, {T0: OffsetAndMetadata(offset)}, {}, origin)

    def end_transaction(self, producer_id: int, kind: ControlType) -> None:
        """Write a marker behind the group coordinator's back."""
        end_transaction(self.log, producer_id, kind)

    def committed(self, group: str) -> dict[TopicPartition, int]:
        return {partition: found.offset for partition, found in self.offsets.committed(group).items()}

    def groups(self) -> list[str]:
        return sorted(row["groupId"] for row in self.coordinator.admin.list())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Coordinated]:
    coordinated = Coordinated(tmp_path / "logs")
    coordinated.logs.create_topic("t", 2)
    yield coordinated
    coordinated.logs.close()


def test_commits_are_there_after_a_restart(store: Coordinated) -> None:
    store.commit("g", 5)
    store.commit("g", 7, T1)
    store.commit("g", 6)
    store.commit("h", 1)
    store.reopen()
    assert store.committed("g") == {T0: 6, T1: 7} and store.committed("h") == {T0: 1}
    assert store.groups() == ["g", "h"]


@pytest.mark.parametrize("reopens", [False, True])
@pytest.mark.parametrize(("kind", "offset"), [(ControlType.COMMIT, 7), (ControlType.ABORT, 5)])
def test_offsets_of_a_transaction_count_from_its_marker_on(
    store: Coordinated, kind: ControlType, offset: int, reopens: bool
) -> None:
    store.commit("g", 5)
    store.commit_in_transaction("g", 7, producer_id=1)
    if reopens:
        store.reopen()
    assert store.committed("g") == {T0: 5} and store.offsets.fetch("g").unstable == {T0}
    store.end_transaction(1, kind)
    if reopens:
        store.reopen()
    assert store.committed("g") == {T0: offset} and store.offsets.fetch("g").unstable == set()


@pytest.mark.parametrize("reopens", [False, True])
def test_the_later_record_counts_whenever_its_transaction_ended(store: Coordinated, reopens: bool) -> None:
    store.commit_in_transaction("g", 7, producer_id=1)
    store.commit_in_transaction("g", 8, producer_id=2)
    store.end_transaction(2, ControlType.COMMIT)
    store.end_transaction(1, ControlType.COMMIT)
    if reopens:
        store.reopen()
    assert store.committed("g") == {T0: 8}
    store.commit_in_transaction("g", 9, producer_id=1)
    store.commit("g", 4)
    store.end_transaction(1, ControlType.COMMIT)
    if reopens:
        store.reopen()
    assert store.committed("g") == {T0: 4}


@pytest.mark.parametrize("reopens", [False, True])
def test_a_deletion_also_concerns_open_transactions(store: Coordinated, reopens: bool) -> None:
    store.commit_in_transaction("g", 7, producer_id=1)
    store.coordinator.admin.delete("g")
    if reopens:
        store.reopen()
    assert store.groups() == []
    store.end_transaction(1, ControlType.COMMIT)
    if reopens:
        store.reopen()
    assert store.committed("g") == {} and store.groups() == []


def test_a_commit_that_cannot_be_written_changes_nothing(store: Coordinated, monkeypatch: pytest.MonkeyPatch) -> None:
    store.commit("g", 5)

    def failing(*_: object, **__: object) -> None:
        raise KafkaStorageError("a disk that failed")

    with monkeypatch.context() as patch:
        patch.setattr(PartitionLog, "append_as_leader", failing)
        with pytest.raises(KafkaStorageError):
            store.commit("g", 6)
    assert store.committed("g") == {T0: 5}


def test_a_commit_that_was_interrupted_after_it_was_written_counts(
    store: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.commit("g", 5)
    append = PartitionLog.append_as_leader

    def interrupted(*given: Any, **named: Any) -> None:
        append(*given, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PartitionLog, "append_as_leader", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.commit("g", 6)
    assert store.committed("g") == {T0: 6}


def test_metadata_that_is_too_long_is_refused(store: Coordinated) -> None:
    long = OffsetAndMetadata(1, "x" * 4097)
    assert store.offsets.commit("g", {T0: long, T1: OffsetAndMetadata(2, "x" * 4096)}, {}) == {T0}
    assert store.committed("g") == {T1: 2}
    with pytest.raises(RequestError, match=r"longer than offset\.metadata\.max\.bytes, 4096"):
        store.offsets.check_metadata({T0: long})


def test_a_commit_with_a_generation_needs_its_group(store: Coordinated) -> None:
    for committer, code in (
        (Committer(generation=0), ErrorCode.GROUP_ID_NOT_FOUND),
        (Committer(generation=0, version=8), ErrorCode.ILLEGAL_GENERATION),
    ):
        with pytest.raises(RequestError) as raised:
            store.offsets.commit("absent", {T0: OffsetAndMetadata(1)}, {}, committer)
        assert raised.value.code == code


def test_offsets_expire_a_week_after_they_were_committed(store: Coordinated) -> None:
    store.commit("old", 5)
    store.scheduler.advance(DAY_MS)
    store.commit("new", 5)
    store.commit_in_transaction("busy", 5, producer_id=1)
    store.scheduler.advance(6 * DAY_MS)
    assert store.groups() == ["busy", "new"] and store.committed("old") == {}
    store.scheduler.advance(DAY_MS)
    assert store.groups() == ["busy"]  # its transaction is open
    store.reopen()
    assert store.groups() == ["busy"]


def test_a_commit_may_say_how_long_it_is_kept(store: Coordinated) -> None:
    store.offsets.commit("g", {T0: OffsetAndMetadata(1)}, {}, retention_ms=DAY_MS)
    store.reopen()
    store.scheduler.advance(DAY_MS // 2)
    assert store.committed("g") == {T0: 1}
    store.scheduler.advance(DAY_MS)
    assert store.committed("g") == {}


def test_the_offsets_of_a_deleted_topic_are_deleted(store: Coordinated) -> None:
    store.logs.create_topic("u", 1)
    store.commit("g", 5)
    store.commit("g", 6, TopicPartition("u", 0))
    store.logs.delete_topic("t")
    assert store.committed("g") == {TopicPartition("u", 0): 6}
    store.reopen()
    assert store.committed("g") == {TopicPartition("u", 0): 6}


def test_the_offsets_of_a_topic_whose_deletion_failed_are_kept(
    store: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = PartitionLog.rename_for_deletion

    def rename_all_but_u(log: PartitionLog, name: str) -> None:
        if name.startswith("u-"):
            raise KafkaStorageError("its disk has failed")
        rename(log, name)

    store.logs.create_topic("u", 1)
    store.commit("g", 5)
    store.commit("g", 6, TopicPartition("u", 0))
    monkeypatch.setattr(PartitionLog, "rename_for_deletion", rename_all_but_u)
    with pytest.raises(KafkaStorageError):
        store.logs.delete_topics(["t", "u"])
    assert store.committed("g") == {TopicPartition("u", 0): 6}
