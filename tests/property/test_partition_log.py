"""A partition's log against a model: a list of batches, and the offsets that bound it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from octavo.config import LogConfig
from octavo.format.walker import walk
from octavo.storage.load import LoadRequest
from octavo.storage.partition_log import PartitionLog
from octavo.storage.read import Isolation
from tests.storage.batches import batch
from tests.storage.worlds import NOW_MS, World

CONFIG = LogConfig.of({"segment.bytes": 1200, "index.interval.bytes": 200, "retention.ms": 10_000})


class PartitionLogMachine(RuleBasedStateMachine):
    """Each rule does the same to the log and to the model."""

    @initialize()
    def begin(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="octavo-model-"))
        self.world = World()
        self.batches: list[tuple[int, int, int]] = []  # base offset, records, timestamp
        self.start = self.end = 0
        self.open(clean=True, recovery_point=0)

    def open(self, *, clean: bool, recovery_point: int) -> None:
        self.log = PartitionLog(
            LoadRequest(
                folder=self.root / "t-0",
                config=CONFIG,
                environment=self.world.environment,
                clean=clean,
                log_start_offset=self.start,
                recovery_point=recovery_point,
            )
        )

    @rule(count=st.integers(1, 4), value_bytes=st.integers(0, 200), later_ms=st.integers(-500, 3000))
    def append(self, count: int, value_bytes: int, later_ms: int) -> None:
        timestamp = self.world.clock.time_ms() + later_ms
        data = batch(0, count, timestamp=timestamp, value_bytes=value_bytes)
        result = self.log.append_as_leader(data, leader_epoch=0)
        assert (result.first_offset, result.last_offset) == (self.end, self.end + count - 1)
        self.batches.append((self.end, count, timestamp))
        self.end += count

    @rule(gap=st.integers(0, 50), count=st.integers(1, 4))
    def append_as_follower(self, gap: int, count: int) -> None:
        timestamp = self.world.clock.time_ms()
        self.log.append_as_follower(batch(self.end + gap, count, timestamp=timestamp))
        self.batches.append((self.end + gap, count, timestamp))
        self.end += gap + count

    @rule(by_ms=st.integers(0, 5000))
    def let_time_pass(self, by_ms: int) -> None:
        self.world.scheduler.advance(by_ms)

    @rule()
    def roll(self) -> None:
        if self.log.segments.active.size:
            self.log.roll()

    @rule()
    def flush(self) -> None:
        self.log.flush()
        assert self.log.recovery_point == self.end

    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        offset = self.start + int(part * (self.end - self.start))
        changed = self.log.truncate_to(offset)
        assert changed == (offset < self.end)
        self.batches = [kept for kept in self.batches if kept[0] + kept[1] <= offset]
        self.end = offset

    @rule(part=st.floats(0, 1))
    def delete_records(self, part: float) -> None:
        offset = self.start + int(part * (self.end - self.start))
        self.start = self.log.delete_records(offset)
        assert self.start == offset

    @rule()
    def retain(self) -> None:
        before = self.log.segments.base_offsets
        self.log.retain()
        assert self.log.segments.base_offsets[-1] >= before[-1]
        assert self.log.log_start_offset >= self.start
        self.start = self.log.log_start_offset

    def forget_the_gap(self) -> None:
        """A truncation inside a batch takes it whole, but the log ends where it was asked to: until it is loaded anew.

        What ends before the checkpoint of its start then begins there, empty.
        """
        base, count, _ = self.batches[-1] if self.batches else (0, 0, 0)
        self.end = max(base + count, self.log.segments.active.base_offset)
        if self.end < self.start:
            self.batches, self.end = [], self.start

    @rule()
    def restart(self) -> None:
        self.log.close()
        self.forget_the_gap()
        self.open(clean=True, recovery_point=self.log.recovery_point)
        assert not self.log.recovered

    @rule()
    def crash(self) -> None:
        """The process ends; the page cache survives."""
        self.forget_the_gap()
        self.open(clean=False, recovery_point=self.log.recovery_point)
        assert not any(recovered.bytes_cut for recovered in self.log.recovered)

    @invariant()
    def offsets_agree(self) -> None:
        assert (self.log.log_start_offset, self.log.log_end_offset) == (self.start, self.end)
        assert self.log.high_watermark == self.end

    @invariant()
    def batches_agree(self) -> None:
        expected = [base for base, count, _ in self.batches if base + count > self.start]
        found, offset = [], self.start
        while len(rows := walk(self.log.read(offset, 700, Isolation.LOG_END).read()).table):
            assert not rows["flaws"].any()
            found += rows["base_offset"].tolist()
            offset = int(rows[-1]["base_offset"] + rows[-1]["last_offset_delta"]) + 1
        assert found == expected

    @invariant()
    def lookup_agrees(self) -> None:
        """The first record from the start on that is not older: a scan over the model says which."""
        wanted = NOW_MS + 2000
        records = [(time + i, base + i) for base, count, time in self.batches for i in range(count)]
        expected = next((offset for time, offset in records if time >= wanted and offset >= self.start), -1)
        found = self.log.offset_for_timestamp(wanted).offset
        # Kafka looks into the first segment alone that has such a timestamp, also in records before the log's start.
        assert found == expected or (found == -1 and self.start > self.log.segments.first.base_offset)

    def teardown(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)


TestPartitionLog = PartitionLogMachine.TestCase
TestPartitionLog.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
