"""Compaction in the background: which log comes first, pauses and aborts, uncleanable logs, throttling, retention."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from octavo.config.kinds import Given
from octavo.errors import CleaningAborted
from octavo.format.batches.batch import build_batch
from octavo.format.names import TopicPartition
from octavo.format.record import Record
from octavo.scanner.api import scan
from octavo.storage.cleaner.manager import Throttle
from octavo.storage.cleaner.states import CleanerStates
from octavo.storage.log.shorten import advance_log_start
from octavo.storage.log_manager import LogManager
from octavo.system.clock import ManualClock
from tests.storage.worlds import NOW_MS, World, opened_with_upkeep

COMPACT: dict[str, Given] = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.5}
T0, U0 = TopicPartition("t", 0), TopicPartition("u", 0)


def fill(logs: LogManager, topic: str, segments: int = 3, keys: int = 5, timestamp: int = NOW_MS) -> None:
    """Write segments of ten records over some keys; the active segment stays empty."""
    log = logs.log(topic, 0)
    for number in range(segments):
        records = [Record(at, timestamp, b"key %d" % (at % keys), b"%d.%d" % (number, at)) for at in range(10)]
        log.append_as_leader(bytearray(build_batch(records)), leader_epoch=0)
        log.roll()


def offsets(root: Path, topic: str) -> list[int]:
    return [record.offset for record in scan(root, [topic])]


def test_the_filthiest_log_is_cleaned_first_and_then_the_next(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world) as logs:  # C7, C8
        for topic in ("t", "u"):
            logs.create_topic(topic, 1, COMPACT)
        fill(logs, "t", segments=4)
        fill(logs, "u", segments=1)
        # One of its four segments is clean, so t's dirty ratio is 0.75; u's is 1.
        logs.roots[0].checkpoints.write_cleaner_offset(T0, 10)
        first = logs.cleaner.clean_filthiest()
        assert first is not None and first.end_offset == 10
        assert logs.roots[0].checkpoints.cleaner_offsets() == {T0: 10, U0: 10}
        second = logs.cleaner.clean_filthiest()
        assert second is not None and second.end_offset == 40
        assert logs.cleaner.clean_filthiest() is None
        assert offsets(tmp_path, "t") == list(range(35, 40))
        assert offsets(tmp_path, "u") == list(range(5, 10))


def test_threads_work_by_the_schedule(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world, log_cleaner_threads=2) as logs:
        logs.create_topic("t", 1, COMPACT)
        fill(logs, "t")
        assert [name for name in world.scheduler.waiting if "cleaner" in name] == [
            "kafka-log-cleaner-thread-0",
            "kafka-log-cleaner-thread-1",
        ]
        world.scheduler.run_due()
        assert offsets(tmp_path, "t") == list(range(25, 30))
        fill(logs, "t")
        world.scheduler.advance(14_999)
        assert len(offsets(tmp_path, "t")) == 35
        world.scheduler.advance(1)
        assert offsets(tmp_path, "t") == list(range(55, 60))


def test_a_disabled_cleaner_does_nothing(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world, log_cleaner_enable=False) as logs:
        logs.create_topic("t", 1, COMPACT)
        fill(logs, "t")
        world.scheduler.advance(60_000)
        assert len(offsets(tmp_path, "t")) == 30


def test_a_real_scheduler_cleans_and_closes_at_once(tmp_path: Path) -> None:
    with LogManager(tmp_path, upkeep=True, configs={"log.cleaner.backoff.ms": 1}) as logs:
        logs.create_topic("t", 1, COMPACT)
        fill(logs, "t")
        done = threading.Event()
        states = logs.cleaner.states
        end = states.end

        def ended(topic_partition: TopicPartition) -> None:
            end(topic_partition)
            if logs.roots[0].checkpoints.cleaner_offsets().get(T0) == 30:
                done.set()

        states.end = ended  # type: ignore[method-assign]
        assert done.wait(60)
    assert offsets(tmp_path, "t") == list(range(25, 30))


def test_a_log_that_cannot_be_cleaned_is_marked_and_does_not_stop_others(
    tmp_path: Path, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    with opened_with_upkeep(tmp_path, world) as logs:
        for topic in ("t", "u"):
            logs.create_topic(topic, 1, COMPACT)
            fill(logs, topic)
        damaged = logs.log("t", 0).folder / f"{0:020}.log"
        content = bytearray(damaged.read_bytes())
        content[-1] ^= 1
        damaged.write_bytes(content)
        with caplog.at_level(logging.CRITICAL):
            world.scheduler.run_due()
            world.scheduler.advance(15_000)
        assert list(logs.cleaner.states.uncleanable) == [T0]
        assert "CRC" in logs.cleaner.states.uncleanable[T0]
        assert damaged.read_bytes() == content
        assert not list(damaged.parent.glob("*.cleaned"))
        assert offsets(tmp_path, "u") == list(range(25, 30))
        logs.delete_topic("t")
        world.scheduler.advance(15_000)
        assert not logs.cleaner.states.uncleanable


def interrupt(logs: LogManager, act: object) -> list[BaseException]:
    """Do something at the first bytes of the next run; the list that is returned gets what it raises."""
    raised: list[BaseException] = []

    class Once:
        def add(self, _: int) -> None:
            logs.cleaner._throttle = Throttle(1e9, ManualClock(), lambda _: None)
            try:
                act()  # type: ignore[operator]
            except BaseException as error:
                raised.append(error)

    logs.cleaner._throttle = Once()  # type: ignore[assignment]
    return raised


def test_a_truncation_aborts_the_run(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world) as logs:
        logs.create_topic("t", 1, COMPACT)
        fill(logs, "t")
        truncation = threading.Thread(target=logs.truncate, args=("t", 0, 15))
        raised = interrupt(logs, lambda: _until_paused(truncation, logs))
        assert logs.cleaner.clean_filthiest() is None
        truncation.join(60)
        assert not raised and not truncation.is_alive()
        assert offsets(tmp_path, "t") == list(range(10))
        assert T0 not in logs.roots[0].checkpoints.cleaner_offsets()
        assert not list(logs.log("t", 0).folder.glob("*.cleaned"))
        assert logs.cleaner.states.uncleanable == {}
        fill(logs, "t", segments=1)
        assert logs.cleaner.clean_filthiest() is not None


def _until_paused(changer: threading.Thread, logs: LogManager) -> None:
    changer.start()
    while True:
        try:
            logs.cleaner.states.check(T0)
        except CleaningAborted:
            return


def test_a_topic_deleted_meanwhile_ends_the_run(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world) as logs:
        logs.create_topic("t", 1, COMPACT)
        fill(logs, "t")
        deletion = threading.Thread(target=logs.delete_topic, args=("t",))
        raised = interrupt(logs, lambda: _until_paused(deletion, logs))
        assert logs.cleaner.clean_filthiest() is None
        deletion.join(60)
        assert not raised and not deletion.is_alive()
        assert "t" not in logs.topics
        world.scheduler.advance(60_000)
        assert not list(tmp_path.glob("t-*"))


def test_another_policy_ends_the_run(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world) as logs:
        logs.create_topic("t", 1, COMPACT)
        fill(logs, "t")
        interrupt(logs, lambda: logs.alter_configs("t", {"cleanup.policy": "delete"}))
        assert logs.cleaner.clean_filthiest() is None
        assert len(offsets(tmp_path, "t")) == 30
        assert not list(logs.log("t", 0).folder.glob("*.cleaned"))


def test_new_configs_count_from_the_next_cleaning_on(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world) as logs:
        for topic in ("t", "u"):
            logs.create_topic(topic, 1, COMPACT)
            fill(logs, topic)
        interrupt(logs, lambda: logs.alter_broker_configs({"log.cleaner.backoff.ms": "7"}))
        logs.cleaner.work()
        assert len(logs.roots[0].checkpoints.cleaner_offsets()) == 1, "the tasks with the new configs do the rest"
        world.scheduler.run_due()
        assert len(logs.roots[0].checkpoints.cleaner_offsets()) == 2


def test_a_close_ends_the_run(tmp_path: Path, world: World) -> None:
    logs = opened_with_upkeep(tmp_path, world)
    logs.create_topic("t", 1, COMPACT)
    fill(logs, "t")
    closing = threading.Thread(target=logs.close)
    interrupt(logs, lambda: _until_paused(closing, logs))
    assert logs.cleaner.clean_filthiest() is None
    closing.join(60)
    assert not closing.is_alive()
    assert len(offsets(tmp_path, "t")) == 30


def test_paused_partitions_are_skipped() -> None:
    states = CleanerStates()
    with states.paused([T0]), states.paused([T0, U0]):
        assert not states.begin(T0)
    with ThreadPoolExecutor(1) as another:
        assert states.begin(T0)
        assert not another.submit(states.begin, T0).result()
        states.end(T0)
    with states.paused([T0]):
        with states.paused([T0]):
            pass
        assert not states.begin(T0)


def test_a_run_that_an_interrupt_ended_does_not_block_others() -> None:
    """Its thread ends, or begins another run, without reporting that the run is over."""
    states = CleanerStates()
    with ThreadPoolExecutor(1) as gone:
        assert gone.submit(states.begin, T0).result()
    assert states.begin(U0) and states.begin(U0)
    with states.paused([T0, U0]):
        pass
    states.stop()


@pytest.mark.parametrize(
    ("policy", "start"), [("compact", 0), ("compact,delete", 30)], ids=["compact", "compact and delete"]
)
def test_old_segments_go_where_the_policy_has_delete(tmp_path: Path, world: World, policy: str, start: int) -> None:
    with opened_with_upkeep(tmp_path, world) as logs:  # C7
        logs.create_topic("t", 1, {**COMPACT, "cleanup.policy": policy, "retention.ms": 3_600_000})
        fill(logs, "t", timestamp=NOW_MS - 7_200_000)
        world.scheduler.run_due()
        assert logs.log("t", 0).log_start_offset == start
        assert offsets(tmp_path, "t") == ([] if start else list(range(25, 30)))


def test_deleted_records_are_removed_even_if_the_policy_is_compact_alone(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world) as logs:
        logs.create_topic("t", 1, {**COMPACT, "min.cleanable.dirty.ratio": 1.0})
        fill(logs, "t")
        advance_log_start(logs.log("t", 0), 20)
        world.scheduler.run_due()
        assert logs.log("t", 0).segments.base_offsets == (20, 30)


def test_a_checkpoint_outside_the_log_is_corrected(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world) as logs:
        logs.create_topic("t", 1, {**COMPACT, "min.cleanable.dirty.ratio": 1.0})
        fill(logs, "t")
        logs.roots[0].checkpoints.write_cleaner_offset(T0, 1000)
        assert logs.cleaner.clean_filthiest() is None  # no ratio is above 1.0
        assert logs.roots[0].checkpoints.cleaner_offsets() == {T0: 0}


def test_a_throttle_waits_for_the_rate() -> None:
    clock, waited = ManualClock(0), list[int]()

    def wait_ms(duration_ms: int) -> None:
        waited.append(duration_ms)
        clock.advance(duration_ms)

    throttle = Throttle(1_000_000, clock, wait_ms)  # 1000 bytes per millisecond
    throttle.add(10_000_000)
    assert not waited  # the period is not over
    clock.advance(301)
    throttle.add(0)
    assert waited == [10_000 - 301]
    clock.advance(301)
    throttle.add(301_000)
    assert waited == [10_000 - 301]  # exactly the rate
    clock.advance(1_000)
    throttle.add(1_500_000)
    assert waited == [10_000 - 301, 500]


def test_runs_are_throttled_by_what_they_read_and_write(tmp_path: Path, world: World) -> None:
    with opened_with_upkeep(tmp_path, world) as logs:
        logs.create_topic("t", 1, COMPACT)
        fill(logs, "t")
        told: list[int] = []

        class Counting:
            def add(self, count: int) -> None:
                told.append(count)

        logs.cleaner._throttle = Counting()  # type: ignore[assignment]
        size = logs.log("t", 0).size
        assert logs.cleaner.clean_filthiest() is not None
        assert sum(told) == 2 * size + logs.log("t", 0).size  # read for the map, read and written for the segments
