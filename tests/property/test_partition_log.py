"""A partition's log compared with a model: a list of batches, and the offsets that bound it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from octavo.config import LogConfig
from octavo.format.batches.batch import Origin
from octavo.format.batches.control import ControlType
from octavo.format.batches.walker import walk
from octavo.storage.append.append import AppendResult
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.log.read import Isolation
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recovery.load import LoadRequest
from tests.property.log_model import LogModel, ModelBatch
from tests.storage.batches import batch
from tests.storage.consumed import consume
from tests.storage.producer_batches import marker
from tests.storage.worlds import NOW_MS, World

CONFIGS = {"segment.bytes": 1200, "index.interval.bytes": 200, "retention.ms": 10_000}
IDEMPOTENT, TRANSACTIONAL = (1, 2), (11, 12)
INDEXES = ".index", ".timeindex", ".txnindex", ".snapshot"


class PartitionLogMachine(RuleBasedStateMachine):
    """Each rule does the same to the log and to the model."""

    @initialize()
    def begin(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="octavo-model-"))
        self.folder = self.root / "t-0"
        self.world = World()
        self.model = LogModel()
        self.config = LogConfig.of(CONFIGS)
        self.open(clean=True)

    def open(self, *, clean: bool, recovery_point: int = 0) -> None:
        self.log = PartitionLog(
            LoadRequest(
                folder=self.folder,
                config=self.config,
                environment=self.world.environment,
                clean=clean,
                log_start_offset=self.model.start,
                recovery_point=recovery_point,
            )
        )

    def send(self, producer_id: int, sequence: int, count: int, value_bytes: int = 50) -> AppendResult:
        origin = Origin(
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=producer_id in TRANSACTIONAL,
        )
        data = batch(0, count, timestamp=self.world.clock.time_ms(), value_bytes=value_bytes, origin=origin)
        return self.log.append_as_leader(data, leader_epoch=0)

    def next_sequence(self, producer_id: int) -> int:
        """The sequence after the producer's last batch; if the log has lost that batch, whatever the log still knows
        counts."""
        last = self.model.last_of(producer_id)
        if last is not None and last.next_offset > self.model.start:
            return last.sequence + last.size
        known = self.log.producers.table.get(producer_id)
        return 0 if known is None else known.last_sequence + 1

    @rule(count=st.integers(1, 4), value_bytes=st.integers(0, 200), later_ms=st.integers(-500, 3000))
    def append(self, count: int, value_bytes: int, later_ms: int) -> None:
        self.append_at(self.world.clock.time_ms() + later_ms, count, value_bytes)

    @rule(timestamp=st.sampled_from([0, 1, -1]), count=st.integers(1, 2), value_bytes=st.sampled_from([0, 400]))
    def append_at(self, timestamp: int, count: int, value_bytes: int) -> None:
        data = batch(0, count, timestamp=timestamp, value_bytes=value_bytes)
        result = self.log.append_as_leader(data, leader_epoch=0)
        assert (result.first_offset, result.last_offset) == (self.model.end, self.model.end + count - 1)
        self.model.add(ModelBatch(self.model.end, count, timestamp))

    @rule(producer_id=st.sampled_from(IDEMPOTENT + TRANSACTIONAL), count=st.integers(1, 4))
    def append_of_producer(self, producer_id: int, count: int) -> None:
        sequence, time_ms = self.next_sequence(producer_id), self.world.clock.time_ms()
        result = self.send(producer_id, sequence, count)
        assert (result.first_offset, result.is_duplicate) == (self.model.end, False)
        is_transactional = producer_id in TRANSACTIONAL
        self.model.add(ModelBatch(self.model.end, count, time_ms, producer_id, sequence, is_transactional))

    @rule(producer_id=st.sampled_from(IDEMPOTENT))
    def append_again(self, producer_id: int) -> None:
        """What is in the log is recognised, whatever happened since."""
        last = self.model.last_of(producer_id)
        if last is not None and last.next_offset > self.model.start:
            result = self.send(producer_id, last.sequence, last.size)
            assert (result.first_offset, result.is_duplicate) == (last.base_offset, True)
            assert result.log_append_time == last.timestamp + last.size - 1

    @rule(slot=st.integers(0, 1), kind=st.sampled_from([ControlType.COMMIT, ControlType.ABORT]))
    def end_transaction(self, slot: int, kind: ControlType) -> None:
        ongoing = sorted(self.model.ongoing())
        if slot < len(ongoing):
            time_ms = self.world.clock.time_ms()
            data = marker(0, kind, producer_id=ongoing[slot], timestamp=time_ms)
            self.log.append_as_leader(data, leader_epoch=0, origin=AppendOrigin.COORDINATOR, transaction_version=0)
            self.model.add(ModelBatch(self.model.end, 1, time_ms, ongoing[slot], marker=kind))

    @rule(gap=st.integers(0, 50), count=st.integers(1, 4))
    def append_as_follower(self, gap: int, count: int) -> None:
        timestamp, offset = self.world.clock.time_ms(), self.model.end + gap
        self.log.append_as_follower(batch(offset, count, timestamp=timestamp))
        self.model.add(ModelBatch(offset, count, timestamp))

    @rule(by_ms=st.integers(0, 5000))
    def let_time_pass(self, by_ms: int) -> None:
        self.world.scheduler.advance(by_ms)

    @rule()
    def roll(self) -> None:
        if self.log.segments.active.size:
            self.log.roll()

    @rule(segment_bytes=st.sampled_from([1000, 1200, 5000]))
    def configure(self, segment_bytes: int) -> None:
        self.config = LogConfig.of({**CONFIGS, "segment.bytes": segment_bytes})
        self.log.configure(self.config)

    @rule()
    def flush(self) -> None:
        self.log.flush()
        assert self.log.recovery_point == self.model.end

    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        offset = self.model.start + int(part * (self.model.end - self.model.start))
        changed = self.log.truncate_to(offset)
        assert changed == (offset < self.model.end)
        self.model.cut(offset)

    @rule(part=st.floats(0, 1))
    def delete_records(self, part: float) -> None:
        offset = self.model.start + int(part * (self.model.end - self.model.start))
        self.model.start = self.log.delete_records(offset)
        assert self.model.start == offset

    @rule()
    def retain(self) -> None:
        before = self.log.segments.base_offsets
        self.log.retain()
        assert self.log.segments.base_offsets[-1] >= before[-1]
        assert self.log.log_start_offset >= self.model.start
        self.model.start = self.log.log_start_offset

    @rule()
    def restart(self) -> None:
        self.log.close()
        self.model.reload(self.log.segments.active.base_offset)
        self.open(clean=True)
        assert not self.log.recovered

    @rule(without_indexes=st.booleans())
    def crash(self, without_indexes: bool) -> None:
        """The process ends; the page cache survives, and everything that can be rebuilt from the log may be lost."""
        self.log.abandon("its process ended")
        self.model.reload(self.log.segments.active.base_offset)
        if without_indexes:
            for path in self.folder.iterdir():
                if path.suffix in INDEXES:
                    path.unlink()
        self.open(clean=False, recovery_point=self.log.recovery_point)
        assert not any(recovered.bytes_cut for recovered in self.log.recovered)

    @precondition(lambda self: self.log.recovery_point < self.log.log_end_offset)
    @rule(part=st.floats(0, 1), rest=st.binary(max_size=100))
    def power_loss(self, part: float, rest: bytes) -> None:
        """A part of what was not flushed in the active segment is left, with something else after it."""
        self.log.abandon("its machine is off")
        path, flushed = self.log.segments.active.files.log.path, self.log.recovery_point
        data = path.read_bytes()
        rows = walk(data).table
        kept = max((int(row["position"] + row["size"]) for row in rows if row["base_offset"] < flushed), default=0)
        cut = kept + int(part * (len(data) - kept))
        path.write_bytes(data[:cut] + rest)
        gone = [int(row["base_offset"]) for row in rows if row["position"] + row["size"] > cut]
        if gone:
            self.model.batches = [one for one in self.model.batches if one.base_offset < gone[0]]
        self.model.reload(self.log.segments.active.base_offset)
        self.open(clean=False, recovery_point=flushed)

    @invariant()
    def offsets_agree(self) -> None:
        assert (self.log.log_start_offset, self.log.log_end_offset) == (self.model.start, self.model.end)
        assert self.log.high_watermark == self.model.end

    @invariant()
    def batches_agree(self) -> None:
        expected = [one.base_offset for one in self.model.batches if one.next_offset > self.model.start]
        found, offset = [], self.model.start
        while len(rows := walk(self.log.read(offset, 700, Isolation.LOG_END).read()).table):
            assert not rows["flaws"].any()
            found += rows["base_offset"].tolist()
            offset = int(rows[-1]["base_offset"] + rows[-1]["last_offset_delta"]) + 1
        assert found == expected

    @invariant()
    def committed_records_agree(self) -> None:
        found = [record.offset for record in consume(self.log, Isolation.READ_COMMITTED, max_bytes=900)]
        assert found in (self.model.committed(remembers_all=True), self.model.committed(remembers_all=False))

    @invariant()
    def lookup_agrees(self) -> None:
        """A lookup finds the first record from the start on that is not older, as a scan over the model does."""
        start, times = self.model.start, self.model.timestamps()
        # Kafka searches only the first segment with such a timestamp, even if only records before the log's start have
        # it, and uses the file's time for a segment without timestamps.
        may_miss = start > self.log.segments.first.base_offset
        may_miss |= any(segment.max_so_far.timestamp < 0 for segment in self.log.segments)
        for wanted in (0, 1, 2, NOW_MS + 2000):
            expected = next((offset for time, offset in times if time >= wanted and offset >= start), -1)
            found = self.log.offset_for_timestamp(wanted).offset
            assert found == expected or (found == -1 and may_miss)

    def teardown(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)


TestPartitionLog = PartitionLogMachine.TestCase
TestPartitionLog.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
