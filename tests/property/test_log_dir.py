"""A log directory compared with a model: topics with their partitions, configs and records, through stops and
crashes."""

from __future__ import annotations

from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from octavo.format.batches.batch import build_batch
from octavo.format.record import Record
from octavo.storage.environment import Environment
from octavo.storage.log_manager import LogManager
from octavo.system.clock import ManualClock
from tests.crash.fault_filesystem import FaultFileSystem, Loss
from tests.storage.consumed import consume
from tests.storage.worlds import NOW_MS, ManualScheduler

ROOTS = Path("/one"), Path("/two")
TOPICS = "a", "b.c", "d"
CONFIGS = {"segment.bytes": 500, "index.interval.bytes": 150, "segment.index.bytes": 200, "retention.ms": -1}
slots = st.integers(0, 9)


class LogDirMachine(RuleBasedStateMachine):
    """Each rule does the same to the directories and to the model."""

    @initialize()
    def begin(self) -> None:
        self.files = FaultFileSystem()
        self.clock = ManualClock(NOW_MS)
        self.values: dict[str, list[list[bytes]]] = {}  # by topic, those of each partition
        self.flushed: dict[tuple[str, int], int] = {}  # how many of a partition's values are safe
        self.segment_bytes: dict[str, int] = {}
        self.count = 0
        self.open()

    def open(self) -> None:
        self.scheduler = ManualScheduler(self.clock)
        environment = Environment(self.scheduler, self.clock, self.files)
        self.logs = LogManager(ROOTS, environment=environment, configs={"num.recovery.threads.per.data.dir": 1})

    def chosen(self, slot: int) -> str | None:
        names = sorted(self.values)
        return names[slot % len(names)] if names else None

    @rule(topic=st.sampled_from(TOPICS), partitions=st.integers(1, 3))
    def create(self, topic: str, partitions: int) -> None:
        if topic not in self.values:
            self.logs.create_topic(topic, partitions, CONFIGS)
            self.values[topic] = [[] for _ in range(partitions)]
            self.segment_bytes[topic] = CONFIGS["segment.bytes"]

    @rule(slot=slots)
    def delete(self, slot: int) -> None:
        if topic := self.chosen(slot):
            self.logs.delete_topic(topic)
            self.flushed = {name: count for name, count in self.flushed.items() if name[0] != topic}
            del self.values[topic], self.segment_bytes[topic]

    @rule(slot=slots)
    def grow(self, slot: int) -> None:
        topic = self.chosen(slot)
        if topic is not None and len(self.values[topic]) < 4:
            self.logs.create_partitions(topic, len(self.values[topic]) + 1)
            self.values[topic].append([])

    @rule(slot=slots, segment_bytes=st.sampled_from([400, 600]))
    def alter(self, slot: int, segment_bytes: int) -> None:
        if topic := self.chosen(slot):
            self.logs.alter_configs(topic, {"segment.bytes": segment_bytes})
            self.segment_bytes[topic] = segment_bytes

    @rule(slot=slots, partition=slots, times=st.integers(1, 5))
    def append(self, slot: int, partition: int, times: int) -> None:
        if topic := self.chosen(slot):
            number = partition % len(self.values[topic])
            for _ in range(times):
                self.count += 1
                value = b"%d" % self.count
                data = build_batch([Record(0, NOW_MS, b"k", value)])
                self.logs.log(topic, number).append_as_leader(data, leader_epoch=0)
                self.values[topic][number].append(value)

    @rule()
    def flush(self) -> None:
        self.logs.flush()
        self.note_flushed()

    def note_flushed(self) -> None:
        self.flushed = {
            (topic, number): len(values)
            for topic, partitions in self.values.items()
            for number, values in enumerate(partitions)
        }

    @rule(by_ms=st.sampled_from([0, 5_000, 70_000]))
    def let_time_pass(self, by_ms: int) -> None:
        self.scheduler.advance(by_ms)

    @rule()
    def restart(self) -> None:
        self.logs.close()
        self.note_flushed()
        self.open()

    @rule(loss=st.sampled_from(Loss), seed=slots)
    def crash(self, loss: Loss, seed: int) -> None:
        """A loss of power may take what was not flushed, from some record of a partition on."""
        self.files = self.files.after_crash(loss, seed)
        self.open()
        if loss is not Loss.PROCESS:
            for topic, partitions in self.values.items():
                for number, values in enumerate(partitions):
                    kept = len(consume(self.logs.log(topic, number)))
                    assert kept >= self.flushed.get((topic, number), 0), f"{topic}-{number} lost flushed records"
                    del values[kept:]

    @invariant()
    def topics_agree(self) -> None:
        assert self.logs.topics == {topic: list(range(len(found))) for topic, found in sorted(self.values.items())}
        assert {topic: self.logs.config(topic).segment_bytes for topic in self.values} == self.segment_bytes

    @invariant()
    def records_agree(self) -> None:
        for topic, partitions in self.values.items():
            for number, values in enumerate(partitions):
                assert [record.value for record in consume(self.logs.log(topic, number))] == values


TestLogDir = LogDirMachine.TestCase
TestLogDir.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
