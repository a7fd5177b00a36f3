"""Random work on a partition log of real Kafka and on ours: the same answers, the same state, the same files."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from octavo.format.batches.batch import Origin, build_batch
from octavo.format.batches.control import ControlType
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.record import Record
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.log.read import Isolation
from tests.interop.twin_logs import Twins
from tests.storage.producer_batches import marker
from tests.storage.worlds import World

pytestmark = pytest.mark.kafka

STEPS, SEEDS = 120, int(os.environ.get("OCTAVO_LOG_SEEDS", "3"))
SEEN = 500, 507  # seeds that give a log whose largest timestamp is -1, and one that starts after its recovery point
PRODUCERS = (1, 2, 3)
SMALL_TIMES = (0, 1, -1)  # 0 can make a time index entry of zeros, and -1 makes none
DAY_MS = 86_400_000
BASE = {"internal.segment.bytes": "1500", "index.interval.bytes": "200", "segment.index.bytes": "4000"}
CONFIGS = [
    {**BASE, "retention.ms": "15000"},
    {**BASE, "retention.bytes": "4000", "segment.ms": "4000", "retention.ms": "-1"},
    {**BASE, "cleanup.policy": "compact,delete", "max.compaction.lag.ms": "3000", "retention.ms": "20000"},
    {**BASE, "message.timestamp.type": "LogAppendTime", "compression.type": "uncompressed", "retention.ms": "15000"},
    {**BASE, "preallocate": "true", "segment.index.bytes": "60", "retention.ms": "15000"},
    {**BASE, "cleanup.policy": "", "message.timestamp.before.max.ms": "5000", "flush.messages": "1"},
]
each_config = pytest.mark.parametrize(
    "configs", CONFIGS, ids=lambda configs: " ".join(f"{k}={v}" for k, v in configs.items())[-60:]
)


class Driver:
    """Draws what is done next; most of the time, each producer's next sequence is the one that the log expects."""

    def __init__(self, twins: Twins, seed: int) -> None:
        self.twins = twins
        self.draw = random.Random(seed)
        self.epoch = 0
        self.outcomes: set[str] = set()
        self._actions: list[tuple[Callable[[], object], int]] = [
            (self.send, 30),
            (self.end_transaction, 8),
            (self.replicate, 6),
            (self.send_old_format, 3),
            (self.replicate_old_format, 3),
            (self.move_high_watermark, 14),
            (self.look, 12),
            (self.pass_time, 8),
            (self.change_leader, 2),
            (self.truncate, 3),
            (self.delete_records, 3),
            (self.twins.retain, 5),
            (self.roll, 3),
            (self.twins.flush, 4),
            (self.restart, 3),
            (self.lose_files, 2),
            (self.tear, 2),
            (self.expire_producers, 1),
        ]

    def step(self) -> None:
        actions, weights = zip(*self._actions, strict=True)
        self.draw.choices(actions, weights)[0]()
        self.twins.check()

    def send(self) -> None:
        draw, log = self.draw, self.twins.ours
        producer_id = draw.choice((-1, *PRODUCERS))
        records = [
            Record(
                number,
                self.sent_at(),
                b"k%d" % number if draw.random() < 0.98 else None,
                draw.randbytes(draw.randint(0, 120)),
            )
            for number in range(draw.choice((1, 1, 2, 6)))
        ]
        origin = None
        if producer_id >= 0:
            known = log.producers.table.get(producer_id)
            epoch = max(known.epoch if known else 0, 0)
            sequence = (known.last_sequence + 1) % 2**31 if known else 0
            ongoing = known is not None and known.current_txn_first_offset is not None
            origin = Origin(
                producer_id=producer_id,
                producer_epoch=max(epoch + draw.choices((0, 1, -1), (20, 2, 1))[0], 0),
                base_sequence=draw.choices((sequence, 0, max(sequence - len(records), 0)), (20, 2, 2))[0],
                is_transactional=draw.random() < (0.95 if ongoing else 0.5),
            )
        codec = draw.choice((Codec.NONE, Codec.NONE, Codec.LZ4, Codec.GZIP))
        self._append(build_batch(records, codec=codec, origin=origin), AppendOrigin.CLIENT)

    def sent_at(self) -> int:
        now_ms = self.twins.world.clock.time_ms()
        return now_ms + self.draw.randint(-6000, 3000) if self.draw.random() < 0.95 else -1

    def replicated_at(self) -> int:
        return self.twins.world.clock.time_ms() + self.draw.randint(-3000, 3000)

    def end_transaction(self) -> None:
        producer_id = self.draw.choice(PRODUCERS)
        known = self.twins.ours.producers.table.get(producer_id)
        epoch = max(known.epoch if known else 0, 0) + self.draw.choice((0, 1))
        kind = self.draw.choice((ControlType.COMMIT, ControlType.ABORT))
        data = marker(0, kind, epoch=epoch, producer_id=producer_id, timestamp=self.twins.world.clock.time_ms())
        self._append(data, AppendOrigin.COORDINATOR, version=self.draw.randint(0, 2))

    def replicate(self) -> None:
        """Append several batches that keep their offsets, with gaps as compaction leaves them."""
        offset, data = self.twins.ours.log_end_offset, b""
        for _ in range(self.draw.randint(1, 4)):
            offset += self.draw.choice((0, 0, 3))
            time_ms = self.replicated_at()
            records = [Record(offset + number, time_ms, b"k", b"v" * 30) for number in range(2)]
            data += build_batch(records, partition_leader_epoch=self.epoch + self.draw.choice((0, 0, 0, 1)))
            offset += 2
        self._append(data, AppendOrigin.REPLICATION)

    def send_old_format(self) -> None:
        """Messages of magic 0 or 1, which become a batch."""
        now_ms = self.twins.world.clock.time_ms()
        records = [Record(number, now_ms, b"k", b"v" * 20) for number in range(self.draw.randint(1, 3))]
        self._append(encode_message_set(records, self.draw.randint(0, 1)), AppendOrigin.CLIENT)

    def replicate_old_format(self) -> None:
        """Append plain messages unchanged. (Not wrappers: Octavo uses only their last offset, while Kafka opens them
        to find the first.)"""
        now_ms, offset = self.twins.world.clock.time_ms(), self.twins.ours.log_end_offset
        records = [Record(offset + number, now_ms, b"k", b"v" * 20) for number in range(self.draw.randint(1, 3))]
        self._append(encode_message_set(records, self.draw.randint(0, 1)), AppendOrigin.REPLICATION)

    def expire_producers(self) -> None:
        """Producers without an open transaction expire after a day."""
        self.twins.world.clock.advance(self.draw.choice((0, DAY_MS)))
        self.twins.expire_producers()

    def _append(self, data: bytes, origin: AppendOrigin, version: int = 0) -> None:
        result = self.twins.append(data, origin, leader_epoch=self.epoch, transaction_version=version)
        self.outcomes.add(result if isinstance(result, str) else "appended")

    def move_high_watermark(self) -> None:
        log = self.twins.ours
        self.twins.update_high_watermark(self.draw.choice((log.log_end_offset, self._offset())))

    def look(self) -> None:
        # Kafka finds the position of the watermark at the first read that it does not refuse.
        self.twins.read(self.twins.ours.log_start_offset, 100, Isolation.READ_UNCOMMITTED, min_one_batch=True)
        for isolation in Isolation:
            offset, size = self._offset(), self.draw.choice((0, 50, 300, 5000))
            self.twins.read(offset, size, isolation, min_one_batch=self.draw.random() < 0.5)
        self.twins.look_up(self.twins.world.clock.time_ms() + self.draw.randint(-8000, 4000))
        for timestamp in (0, 1, 2, -3):
            self.twins.look_up(timestamp)

    def pass_time(self) -> None:
        self.twins.world.clock.advance(self.draw.choice((10, 1000, 4000)))

    def change_leader(self) -> None:
        self.epoch += 1

    def truncate(self) -> None:
        log = self.twins.ours
        if self.draw.random() < 0.1:
            self.twins.truncate_fully(log.log_end_offset + self.draw.randint(0, 5))
        else:
            self.twins.truncate(
                self.draw.randint(max(log.log_start_offset, log.log_end_offset - 20), log.log_end_offset)
            )

    def delete_records(self) -> None:
        log = self.twins.ours
        if log.log_start_offset <= log.high_watermark:  # the watermark may lie before the start, in the same batch
            self.twins.advance_log_start(self.draw.randint(log.log_start_offset, log.high_watermark))

    def roll(self) -> None:
        if self.twins.ours.segments.active.size:
            self.twins.roll()

    def restart(self) -> None:
        self.twins.restart(clean=self.draw.random() < 0.5)

    def lose_files(self) -> None:
        """A segment without its offset index gets new indexes. (Not tried after a crash: ours then first recovers the
        segments before it.)"""
        clean = self.draw.random() < 0.5
        kinds = (".index", ".txnindex", ".snapshot") if clean else (".txnindex", ".snapshot")
        slot = self.draw.randrange(len(self.twins.ours.segments))

        def lose(folder: Path) -> None:
            for kind in kinds:
                found = sorted(folder.glob(f"*{kind}"))
                if slot < len(found):
                    found[slot].unlink()

        self.twins.restart(clean=clean, damage=lose)

    def tear(self) -> None:
        """Cut the end of the last segment, or put something else there."""
        part, rest = self.draw.random(), self.draw.choice((b"", bytes(300), self.draw.randbytes(80)))

        def cut(folder: Path) -> None:
            path = max(folder.glob("*.log"))
            data = path.read_bytes()
            path.write_bytes(data[: int(len(data) * part)] + rest)

        self.twins.flush()
        self.twins.restart(clean=False, damage=cut)

    def _offset(self) -> int:
        log = self.twins.ours
        return self.draw.randint(max(log.log_start_offset - 2, 0), log.log_end_offset + 1)


class SmallTimesDriver(Driver):
    """Draws the smallest timestamps, so that whole segments have no others."""

    def sent_at(self) -> int:
        return self.draw.choice(SMALL_TIMES) if self.draw.random() < 0.9 else super().sent_at()

    def replicated_at(self) -> int:
        return self.sent_at()


@each_config
def test_both_logs_do_the_same(jvm: ModuleType, tmp_path: Path, configs: dict[str, str]) -> None:
    for seed in (*range(SEEDS), *SEEN):
        driver = Driver(Twins(jvm, tmp_path / str(seed), configs, World()), seed)
        for _ in range(STEPS):
            driver.step()
        assert "appended" in driver.outcomes


@each_config
def test_both_logs_do_the_same_with_the_smallest_timestamps(
    jvm: ModuleType, tmp_path: Path, configs: dict[str, str]
) -> None:
    """If the largest timestamp of a segment is 0, its time index may be a single entry of zeros."""
    for seed in range(SEEDS):
        driver = SmallTimesDriver(Twins(jvm, tmp_path / str(seed), configs, World()), seed)
        for _ in range(STEPS):
            driver.step()
