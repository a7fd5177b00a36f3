"""Whole cleaning runs compared with a naive model, round after round; what ends a run; tasks that can be pickled."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from octavo.config import BrokerConfig, Given, LogConfig
from octavo.errors import CleaningAborted, ConfigError, CorruptionError
from octavo.format.batches.batch import Origin, build_batch, decode_batch
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.format.record import Record
from octavo.kernels.layout import DELETE_HORIZON
from octavo.kernels.offset_table import SLOT_BYTES, KeyHash
from octavo.storage.cleaner.clean_group import clean_group
from octavo.storage.cleaner.map_keys import ignore_bytes, map_keys
from octavo.storage.cleaner.offset_map import MapLimits
from octavo.storage.cleaner.plan import Candidate, CleanPlan
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recovery.load import LoadRequest
from octavo.storage.rewriting.cleaned_segments import swap_in
from octavo.storage.rewriting.source import OnBytes
from tests.storage.cleaned import candidate, clean
from tests.storage.worlds import NOW_MS, World

Model = dict[int, tuple[bytes | None, bytes | None]]  # offset to key and value
CONFIG: dict[str, Given] = {
    "cleanup.policy": "compact",
    "segment.bytes": 2000,
    "index.interval.bytes": 100,
    "file.delete.delay.ms": 0,
}
CONFIG |= {"delete.retention.ms": 1000}


def limits(slots: int = 1000, key_hash: KeyHash = KeyHash.SIPHASH) -> MapLimits:
    return MapLimits(slots * SLOT_BYTES, 0.9, key_hash, bytes(range(16)))


class Store:
    """A log that is filled at random, cleaned, and read batch by batch."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.world, self.draw = World(), random.Random(seed)
        config = LogConfig.of(CONFIG)
        request = LoadRequest(folder=folder, config=config, environment=self.world.environment, clean=True)
        self.log = PartitionLog(request)
        self.checkpoint: int | None = None

    def write(self, batches: int = 30, keys: int = 10) -> None:
        draw = self.draw
        for _ in range(batches):
            offset = self.log.log_end_offset
            records = [
                Record(
                    offset + number,
                    NOW_MS + draw.randrange(9),
                    b"k%d" % draw.randrange(keys) if draw.random() < 0.95 else None,
                    draw.randbytes(draw.randrange(40)) if draw.random() < 0.8 else None,
                )
                for number in range(draw.choice([1, 2, 7]))
            ]
            codec = draw.choice([Codec.NONE, Codec.NONE, Codec.LZ4, Codec.ZSTD])
            self.log.append_as_follower(build_batch(records, codec=codec, partition_leader_epoch=0))
        self.log.roll()

    def candidate(self) -> Candidate:
        return candidate(self.log, self.checkpoint, self.world.clock.time_ms())

    def plan(self, limits: MapLimits, *, spills: bool = False) -> CleanPlan:
        return self.candidate().plan(limits, self.world.clock.time_ms(), spills=spills)

    def clean(self, limits: MapLimits, on_bytes: OnBytes = ignore_bytes) -> None:
        done = clean(self.candidate(), limits, self.world.clock.time_ms(), on_bytes)
        self.checkpoint = done.end_offset
        self.world.scheduler.run_due()

    def records(self) -> Model:
        return {record.offset: (record.key, record.value) for _, record in self._batches()}

    def horizons(self) -> dict[int, int]:
        """Tombstones by offset, with the delete horizons of their batches."""
        return {
            record.offset: int(header.base_timestamp)
            for header, record in self._batches()
            if record.value is None and header.attributes & DELETE_HORIZON
        }

    def _batches(self) -> Iterator[tuple[BatchHeader, Record]]:
        for segment in self.log.segments:
            data = segment.files.log.path.read_bytes()
            for row in walk(data).table:
                assert not row["flaws"]
                header, records = decode_batch(data, int(row["position"]))
                yield from ((header, record) for record in records)


def expected(before: Model, horizons: dict[int, int], first_dirty: int, end: int, now_ms: int) -> Model:
    """C7: up to `end`, the last record of each key, unless it is a tombstone past its horizon; all from there on."""
    last = {key: offset for offset, (key, _) in sorted(before.items()) if first_dirty <= offset < end}
    kept = Model()
    for offset, (key, value) in before.items():
        is_due = value is None and horizons.get(offset, now_ms + 1) <= now_ms
        is_last = key is not None and offset >= last.get(key, -1)
        if offset >= end or (is_last and not is_due):
            kept[offset] = key, value
    return kept


@pytest.mark.parametrize("seed", range(12))
def test_rounds_leave_what_a_naive_model_says(tmp_path: Path, seed: int) -> None:
    # C7 C11 C14
    store = Store(tmp_path / "t-0", seed)
    given = limits(random.Random(seed).choice([8, 15, 1000]), list(KeyHash)[seed % 2])
    for _ in range(4):
        store.write()
        store.world.clock.advance(store.draw.choice([1, 999, 1000, 5000]))
        end, now_ms = store.log.log_end_offset, store.world.clock.time_ms()
        for _ in range(2):
            before, horizons, first_dirty = store.records(), store.horizons(), store.checkpoint or 0
            store.clean(given)
            assert store.checkpoint is not None
            model = expected(before, horizons, first_dirty, store.checkpoint, now_ms)
            assert store.records() == model
            assert store.log.log_end_offset == end
    store.log.close()


def test_a_log_that_does_not_fit_into_the_map_is_cleaned_in_rounds(tmp_path: Path) -> None:
    # C10
    store = Store(tmp_path / "t-0")
    store.write(60, keys=40)
    before, now_ms, ends = store.records(), store.world.clock.time_ms(), []
    for _ in range(20):
        store.clean(limits(20))
        ends.append(store.checkpoint)
        if store.checkpoint == store.log.segments.active.base_offset:
            break
    assert len(ends) > 2 and ends == sorted(set(ends))  # type: ignore[type-var]
    assert store.records() == expected(before, {}, 0, store.log.log_end_offset, now_ms)


def test_segments_merge_and_keep_their_ages(tmp_path: Path) -> None:
    # C12 C13
    store = Store(tmp_path / "t-0")
    store.write(100)
    plan = store.plan(limits())
    ages = {segment.base_offset: NOW_MS + number for number, segment in enumerate(plan.segments)}
    for base, age in ages.items():
        os.utime(tmp_path / "t-0" / f"{base:020}.log", ns=(age * 10**6, age * 10**6))
    store.clean(limits())
    store.clean(limits())
    assert len(store.log.segments) < len(plan.segments)
    inactive = list(store.log.segments)[:-1]
    assert inactive[-1].files.log.mtime_ms == max(ages.values())
    assert not [path for path in (tmp_path / "t-0").iterdir() if path.suffix in (".cleaned", ".swap", ".deleted")]


def test_pickled_tasks_in_another_order_give_the_same_bytes(tmp_path: Path) -> None:
    stores = [Store(tmp_path / name, 3) for name in ("a-0", "b-0")]
    for store in stores:
        store.write(60)
        for segment in store.log.segments:
            os.utime(segment.files.log.path, ns=(NOW_MS * 10**6, NOW_MS * 10**6))
    here, there = stores
    here.clean(limits())
    plan = pickle.loads(pickle.dumps(there.plan(limits(), spills=True)))
    mapped = pickle.loads(pickle.dumps(map_keys(plan)))
    assert len(mapped.groups) > 1
    groups = [pickle.loads(pickle.dumps(clean_group(group))) for group in reversed(mapped.groups)]
    old = [segment for group in groups[::-1] for segment in group.segments]
    swap_in(there.log, old, [group.base_offset for group in groups[::-1]], plan.config)
    there.world.scheduler.run_due()
    ours, theirs = (
        {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".log", ".index", ".timeindex")}
        for folder in (tmp_path / "a-0", tmp_path / "b-0")
    )
    assert ours == theirs


def test_a_map_in_memory_is_not_pickled(tmp_path: Path) -> None:
    store = Store(tmp_path / "t-0")
    store.write()
    with pytest.raises(TypeError, match="spill it"):
        pickle.dumps(map_keys(store.plan(limits())))


def test_a_run_that_is_ended_leaves_all_as_it_was(tmp_path: Path) -> None:
    store = Store(tmp_path / "t-0")
    store.write(60)
    before = {path.name: path.read_bytes() for path in (tmp_path / "t-0").iterdir()}
    seen = 0

    def end_late(count: int) -> None:
        nonlocal seen
        seen += 1
        if seen == 12:
            raise CleaningAborted("ended from outside")

    with pytest.raises(CleaningAborted):
        store.clean(limits(), end_late)
    assert {path.name: path.read_bytes() for path in (tmp_path / "t-0").iterdir()} == before


def test_a_log_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "t-0")
    store.write(60)
    plan = store.plan(limits())
    groups = [clean_group(task) for task in map_keys(plan).groups]
    store.log.truncate_to(plan.segments[1].base_offset)
    with pytest.raises(CleaningAborted, match="has changed meanwhile"):
        old = [segment for group in groups for segment in group.segments]
        swap_in(store.log, old, [group.base_offset for group in groups], plan.config)
    assert not list((tmp_path / "t-0").glob("*.cleaned"))


def test_a_run_is_safe_to_repeat(tmp_path: Path) -> None:
    # C13
    store = Store(tmp_path / "t-0")
    store.write(60)
    plan = store.plan(limits())
    for task in map_keys(plan).groups:
        clean_group(task)  # and then the machine stopped
    assert list((tmp_path / "t-0").glob("*.cleaned"))
    before, now_ms = store.records(), store.world.clock.time_ms()
    store.clean(limits())
    assert store.records() == expected(before, {}, 0, store.checkpoint or 0, now_ms)
    assert not list((tmp_path / "t-0").glob("*.cleaned"))


def test_a_damaged_batch_is_not_given_a_new_checksum(tmp_path: Path) -> None:
    store = Store(tmp_path / "t-0")
    store.write(40)
    path = next(iter(store.log.segments)).files.log.path
    data = bytearray(path.read_bytes())
    row = walk(data).table[2]
    data[int(row["position"]) + 30] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptionError) as caught:
        store.clean(limits())
    assert (caught.value.path, caught.value.position) == (str(path), int(row["position"]))
    assert path.read_bytes() == data


def test_the_last_batch_and_a_producers_last_stay_without_records(tmp_path: Path) -> None:
    # F14
    store = Store(tmp_path / "t-0")
    origin = Origin(producer_id=4, producer_epoch=0, base_sequence=0)
    now_ms = NOW_MS
    for offset, value in enumerate([b"1", b"2", None, b"3"]):
        key = b"same" if offset != 2 else None
        producer = origin if offset == 0 else Origin()
        record = Record(offset, now_ms, key, value)
        store.log.append_as_follower(build_batch([record], origin=producer, partition_leader_epoch=0))
    store.log.append_as_follower(build_batch([Record(4, now_ms, None, b"x")], partition_leader_epoch=0))
    store.log.roll()
    store.clean(limits())
    data = next(iter(store.log.segments)).files.log.path.read_bytes()
    found = [decode_batch(data, int(row["position"])) for row in walk(data).table]
    shapes = [(header.base_offset, header.last_offset, header.base_sequence, len(rows)) for header, rows in found]
    assert shapes == [(0, 0, 0, 0), (3, 3, -1, 1), (4, 4, -1, 0)]


def test_memory_that_holds_no_key_is_refused() -> None:
    config = BrokerConfig.of({"log.cleaner.dedupe.buffer.size": 2 << 20, "log.cleaner.io.buffer.load.factor": 0.00001})
    with pytest.raises(ConfigError, match="holds no key"):
        MapLimits.of(config, bytes(16))


def test_threads_share_the_memory() -> None:
    # C10
    config = BrokerConfig.of({"log.cleaner.threads": 2})
    assert MapLimits.of(config, bytes(16)).memory_bytes == 64 << 20
    assert MapLimits.of(BrokerConfig.of({}), bytes(16)).table(0, 0).capacity == 5033164
