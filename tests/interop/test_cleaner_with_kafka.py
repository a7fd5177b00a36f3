"""Random logs cleaned by Kafka's own Cleaner and by ours, round after round: the same segments, batches and bytes."""

from __future__ import annotations

import os
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from octavo.errors import OctavoError
from octavo.format.batches.batch import Origin, build_batch, decode_batch, read_header
from octavo.format.batches.control import ControlType
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.format.indexes import txn_index
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.record import Header, Record
from octavo.kernels.layout import CODEC_MASK
from octavo.kernels.offset_table import SLOT_BYTES, KeyHash
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.cleaner.offset_map import MapLimits
from tests.format.exact_batches import encode_batch
from tests.interop.real_log import LOG
from tests.interop.twin_logs import Twins
from tests.storage.cleaned import candidate, clean
from tests.storage.producer_batches import marker
from tests.storage.worlds import NOW_MS, World

pytestmark = pytest.mark.kafka

SEEDS = int(os.environ.get("OCTAVO_CLEANER_SEEDS", "12"))
# With these seeds, Kafka takes a committed batch for aborted because it begins to read keys in the middle of a segment.
SEEN = 40, 60
ROUNDS, BATCHES = 4, 40
RETENTION_MS = 10_000
CONFIGS = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": "1800",
    "index.interval.bytes": "200",
    "delete.retention.ms": str(RETENTION_MS),
    "file.delete.delay.ms": "0",
    "max.message.bytes": "100000",
}


class Writer:
    """Appends random batches to both logs, as a follower does: any codec, gaps, transactions, old formats."""

    def __init__(self, twins: Twins, draw: random.Random, magics: tuple[int, ...], codecs: list[Codec]) -> None:
        self.twins, self.draw, self.magics, self.codecs = twins, draw, magics, codecs
        self._sequences = dict.fromkeys((1, 2, 3, 11, 12, 13), 0)
        self._open: set[int] = set()

    def write(self) -> None:
        draw, offset = self.draw, self.twins.ours.log_end_offset + (self.draw.random() < 0.1) * 3
        if self._open and draw.random() < 0.3:
            self._end_transaction(draw.choice(sorted(self._open)))
            return
        magic = draw.choice(self.magics)
        records = self._records(offset, magic)
        if magic < 2:
            codec = draw.choice(self.codecs[: Codec.ZSTD])  # the codecs that old formats know
            append_time = draw.choice([None, NOW_MS])
            records = [record._replace(headers=()) for record in records]
            self._append(encode_message_set(records, magic, codec=codec, log_append_time=append_time))
            return
        producer_id = draw.choice([-1, -1, *self._sequences])
        origin = Origin()
        if producer_id > 0:
            sequence = self._sequences[producer_id]
            transactional = producer_id > 10
            origin = Origin(
                producer_id=producer_id, producer_epoch=0, base_sequence=sequence, is_transactional=transactional
            )
            self._sequences[producer_id] += records[-1].offset - offset + 1
            self._open |= {producer_id} if transactional else set()
        appended_at = NOW_MS + draw.randrange(1000) if draw.random() < 0.2 else None
        codec = draw.choice(self.codecs)
        batch = build_batch(records, codec=codec, log_append_time=appended_at, origin=origin, partition_leader_epoch=0)
        header = read_header(batch)
        if header.base_offset != offset:
            # As if it had lost its first records in an earlier cleaning.
            kept = records if appended_at is None else decode_batch(batch, stored_timestamps=True)[1]
            delta = header.last_offset - offset
            fields = {name: getattr(header, name) for name in header.__slots__}
            fields |= {"base_offset": offset, "last_offset_delta": delta}
            batch = encode_batch(type(header)(**fields), kept)
        self._append(batch)

    def finish(self) -> None:
        if self._open and self.draw.random() < 0.7:
            for producer_id in sorted(self._open):
                self._end_transaction(producer_id)

    def _records(self, offset: int, magic: int) -> list[Record]:
        draw = self.draw
        count = draw.choice([1, 1, 2, 3, 6])
        gaps = magic == 2 and draw.random() < 0.3
        offsets = (
            sorted(draw.sample(range(offset, offset + 2 * count), count)) if gaps else range(offset, offset + count)
        )
        return [
            Record(
                number,
                NOW_MS + draw.randrange(5000) if draw.random() < 0.9 and magic else -1,
                b"key-%d" % draw.randrange(12) if draw.random() < 0.95 else None,
                None if draw.random() < 0.2 else draw.randbytes(draw.randrange(60)),
                tuple(Header(f"h{n}", draw.choice([None, b"x"])) for n in range(draw.choice([0, 0, 0, 2]))),
            )
            for number in offsets
        ]

    def _end_transaction(self, producer_id: int) -> None:
        kind = self.draw.choice([ControlType.COMMIT, ControlType.ABORT])
        self._append(marker(self.twins.ours.log_end_offset, kind, producer_id=producer_id))
        self._open.discard(producer_id)

    def _append(self, data: bytes) -> None:
        outcome = self.twins.append(data, AppendOrigin.REPLICATION, leader_epoch=0)
        assert not isinstance(outcome, str), outcome
        self.twins.update_high_watermark(self.twins.ours.log_end_offset)


class RealCleaner:
    """Kafka's Cleaner with a map of this many slots."""

    def __init__(self, jvm: ModuleType, twins: Twins, slots: int) -> None:
        self._jvm, self._twins = jvm, twins
        self._log: Any = jvm.JPackage(LOG)
        time = jvm.JClass("org.apache.kafka.common.utils.Time").SYSTEM
        throttler = jvm.JClass("org.apache.kafka.storage.internals.utils.Throttler")(
            1e300, 300, "cleaner", "bytes", time
        )
        done = jvm.JProxy("java.util.function.Consumer", dict={"accept": lambda _: None})
        offset_map = self._log.SkimpyOffsetMap(jvm.JInt(slots * SLOT_BYTES))
        self._cleaner = self._log.Cleaner(0, offset_map, 1 << 16, 1 << 20, 0.9, throttler, time, done)

    def to_clean(self, first_dirty: int, uncleanable: int) -> Any:
        return self._log.LogToClean(
            self._twins.theirs, self._jvm.JLong(first_dirty), self._jvm.JLong(uncleanable), False
        )

    def clean(self, to_clean: Any, now_ms: int) -> int | None:
        """The first offset that is not clean; None if Kafka's cleaner failed."""
        try:
            return int(self._cleaner.doClean(to_clean, self._jvm.JLong(now_ms)).getKey())
        except self._jvm.JException:
            return None


def set_ages(twins: Twins, draw: random.Random) -> None:
    """Give both logs' files the same modification times, which decide how long tombstones in v0 and v1 stay."""
    names = sorted(path.name for path in twins.our_folder.glob("*.log"))
    for number, name in enumerate(names):
        at = NOW_MS / 1000 - 100 + number * draw.choice([1, 8])
        for folder in (twins.our_folder, twins.their_folder):
            os.utime(folder / name, (at, at))


def shapes(log: Path) -> list[tuple[object, ...]]:
    data, found = log.read_bytes(), []
    for row in walk(data).table:
        header, records = decode_batch(data, int(row["position"]))
        fields = [getattr(header, name) for name in header.__slots__ if name not in ("position", "size", "crc")]
        found.append((*fields, records))
    return found


def compare(twins: Twins) -> None:
    twins.world.scheduler.run_due()
    ours, theirs = twins.our_folder, twins.their_folder
    names = sorted(path.name for path in theirs.glob("*.log"))
    assert sorted(path.name for path in ours.glob("*.log")) == names
    assert not list(ours.glob("*.deleted")) and not list(ours.glob("*.cleaned")) and not list(ours.glob("*.swap"))
    for name in names:
        assert shapes(ours / name) == shapes(theirs / name), name
        assert _aborted(ours / name) == _aborted(theirs / name)
        same_positions = not (walk((theirs / name).read_bytes()).table["attributes"] & CODEC_MASK).any()
        if same_positions:
            assert (ours / name).read_bytes() == (theirs / name).read_bytes()
            for kind in (".index", ".timeindex") if name != names[-1] else ():
                assert (ours / name).with_suffix(kind).read_bytes() == (theirs / name).with_suffix(kind).read_bytes()


def _aborted(log: Path) -> list[txn_index.AbortedTxn]:
    path = log.with_suffix(".txnindex")
    return txn_index.decode(path.read_bytes()).aborted if path.exists() else []


@pytest.mark.parametrize("seed", sorted({*range(SEEDS), *SEEN}))
def test_both_leave_the_same(jvm: ModuleType, tmp_path: Path, seed: int) -> None:
    # F14 C7 C8 C10 C11
    draw, world = random.Random(seed), World()
    magics = ((2,), (2,), (0, 1, 2), (0,), (1,))[seed % 5]
    # A batch that is compressed again may be longer or shorter than Kafka's: then later rounds group other segments.
    rounds, codecs = (1, list(Codec)) if seed % 3 == 2 else (ROUNDS, [Codec.NONE])
    twins = Twins(jvm, tmp_path, CONFIGS, world)
    writer = Writer(twins, draw, magics, codecs)
    slots = draw.choice([8, 12, 1000])
    real = RealCleaner(jvm, twins, slots)
    limits = MapLimits(slots * SLOT_BYTES, 0.9, draw.choice(list(KeyHash)), draw.randbytes(16))
    checkpoint: int | None = None
    for _ in range(rounds):
        for _ in range(BATCHES):
            writer.write()
        writer.finish()
        twins.roll()
        set_ages(twins, draw)
        world.clock.advance(draw.choice([1, RETENTION_MS - 1, RETENTION_MS, 3 * RETENTION_MS]))
        now_ms = world.clock.time_ms()
        for _ in range(3 if codecs == [Codec.NONE] else 1):  # a full map needs several runs
            found = candidate(twins.ours, checkpoint, now_ms)
            cleanable = found.cleanable
            to_clean = real.to_clean(cleanable.first_dirty_offset, cleanable.uncleanable_offset)
            assert cleanable.first_uncleanable_offset == int(to_clean.firstUncleanableOffset())
            assert cleanable.clean_bytes == int(to_clean.cleanBytes())
            if not cleanable.cleanable_bytes:
                break
            expected = real.clean(to_clean, now_ms)
            try:
                done = clean(found, limits, now_ms)
            except OctavoError:
                assert expected is None  # such as an old message that would have to stay without records
                return
            assert done.end_offset == expected
            compare(twins)
            checkpoint = done.end_offset
