"""Random appends to a partition log of real Kafka and to our producer state: the same answers, the same state."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from octavo.errors import KafkaError
from octavo.format.batches.walker import walk
from octavo.format.indexes import txn_index
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.format.small_files import producer_snapshot
from octavo.format.small_files.producer_snapshot import ProducerEntry
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.producers.entry import ProducerStateEntry
from octavo.storage.producers.state import ProducerStateManager
from tests.interop.real_log import RealLog
from tests.storage.producer_batches import ABORT, COMMIT, MAX_SEQUENCE, append, data, marker

pytestmark = pytest.mark.kafka

PRODUCERS = (1, 2, 3)
STEPS = 120


class Pair:
    """A real log and our state, driven by the same random appends."""

    def __init__(self, real: RealLog, seed: int) -> None:
        self.real = real
        self.ours = ProducerStateManager()
        self.aborted: list[AbortedTxn] = []
        self.bounds = [0]  # offsets where batches begin, and the end
        self.outcomes: dict[str, int] = {}
        self._random = random.Random(seed)
        self._now_ms = int(time.time() * 1000) - 1000
        self._log_start_offset = 0

    @property
    def end(self) -> int:
        return self.bounds[-1]

    def step(self) -> None:
        action = self._random.choices([self._data, self._marker, self._replicate, self._advance], [10, 4, 3, 2])[0]
        action()
        high_watermark = int(self.real.log.highWatermark())
        assert list(self.ours.table) == sorted_like(self.ours, self.real.producers())
        unstable = self.ours.transactions.first_unstable_offset(self._log_start_offset)
        assert unstable == self.real.first_unstable_offset()
        stable = high_watermark if unstable is None else min(unstable, high_watermark)
        assert stable == int(self.real.log.lastStableOffset())

    def _entry(self) -> ProducerStateEntry:
        producer_id = self._random.choice(PRODUCERS)
        return self.ours.table.get(producer_id) or ProducerStateEntry(producer_id)

    def _epoch(self, entry: ProducerStateEntry) -> int:
        return max(self._random.choices([entry.epoch, entry.epoch + 1, entry.epoch - 1], [12, 2, 1])[0], 0)

    def _data(self) -> None:
        entry = self._entry()
        client = self._random.random() < 0.8
        again = self._random.choice([*entry.batches, None]) if self._random.random() < 0.3 else None
        count = self._random.randint(1, 3)
        following = self._random.choices(
            [(entry.last_sequence + 1) % 2**31, 0, MAX_SEQUENCE - 1, self._random.randint(0, 9)], [20, 3, 2, 2]
        )[0]
        sequence, count = (following, count) if again is None else (again.first_sequence, again.offset_delta + 1)
        is_ongoing = entry.current_txn_first_offset is not None
        transactional = self._random.random() < (0.95 if is_ongoing else 0.4)
        self._append("CLIENT" if client else "COORDINATOR", -1, self._batch(entry, sequence, count, transactional))

    def _batch(self, entry: ProducerStateEntry, sequence: int, count: int, transactional: bool) -> list[bytes]:
        """The same batch twice: for Kafka, which assigns offsets, and with the offsets that it will assign."""
        epoch, timestamp = self._epoch(entry), self._now_ms + self._random.randint(0, 999)
        return [
            data(
                offset,
                sequence,
                epoch=epoch,
                count=count,
                producer_id=entry.producer_id,
                transactional=transactional,
                timestamp=timestamp,
            )
            for offset in (0, self.end)
        ]

    def _marker(self) -> None:
        self._append("COORDINATOR", self._random.randint(0, 2), [self._one_marker(self.end)] * 2)

    def _one_marker(self, offset: int) -> bytes:
        entry = self._entry()
        epoch = max(entry.epoch + self._random.choices([0, 1, 2, -1], [8, 8, 1, 1])[0], 0)
        coordinator_epoch = max(entry.coordinator_epoch + self._random.choices([0, 1, -1], [8, 1, 1])[0], 0)
        return marker(
            offset,
            self._random.choice([ABORT, COMMIT]),
            epoch=epoch,
            coordinator_epoch=coordinator_epoch,
            producer_id=entry.producer_id,
            timestamp=self._now_ms + self._random.randint(0, 999),
        )

    def _replicate(self) -> None:
        """Several batches in one append, which a follower does not check."""
        offset, batches = self.end, []
        for _ in range(self._random.randint(1, 12)):
            if self._random.random() < 0.25:
                batches.append(self._one_marker(offset))
                offset += 1
                continue
            entry, count = self._entry(), self._random.randint(1, 3)
            is_ongoing = entry.current_txn_first_offset is not None
            transactional = self._random.random() < (0.98 if is_ongoing else 0.7)
            batches.append(
                data(
                    offset,
                    self._random.randint(0, 5),
                    epoch=self._epoch(entry),
                    count=count,
                    producer_id=entry.producer_id,
                    transactional=transactional,
                    timestamp=self._now_ms + offset % 1000,
                )
            )
            offset += count
        self._append("REPLICATION", -1, [b"".join(batches)] * 2)

    def _append(self, origin: str, version: int, batch: list[bytes]) -> None:
        theirs = self.real.append(batch[0], origin, version)
        found = walk(batch[1]).table
        first, last = int(found[0]["base_offset"]), int(found[-1]["base_offset"] + found[-1]["last_offset_delta"])
        outcome: tuple[int, int] | str
        try:
            checked, aborted = append(
                self.ours, batch[1], origin=AppendOrigin[origin], transaction_version=None if version < 0 else version
            )
        except KafkaError as error:
            outcome, name = error.kafka_name, error.kafka_name
        else:
            self.aborted += aborted
            name = origin if checked.duplicate is None else "duplicate"
            outcome = first, last
            if checked.duplicate is not None:
                outcome = checked.duplicate.first_offset, checked.duplicate.last_offset
            else:
                self.bounds += [int(row["base_offset"] + row["last_offset_delta"]) + 1 for row in found]
        assert outcome == theirs, (origin, version, found)
        self.outcomes[name] = self.outcomes.get(name, 0) + 1

    def _advance(self) -> None:
        """Raise the high watermark, and occasionally the log start offset with it."""
        high_watermark = int(self.real.log.highWatermark())
        high_watermark = self._random.choice([bound for bound in self.bounds if bound >= high_watermark])
        self.real.log.updateHighWatermark(high_watermark)
        self.ours.transactions.forget_before(high_watermark)
        if self._random.random() < 0.3:
            start = self._random.choice([bound for bound in self.bounds if bound <= high_watermark])
            self.real.advance_log_start(start)
            if start > self._log_start_offset:
                self._log_start_offset = start
                self.ours.advance_log_start(start, None)


def sorted_like(ours: ProducerStateManager, theirs: dict[int, ProducerStateEntry]) -> list[ProducerStateEntry]:
    """Theirs in the order of ours, with those that we lack at the end."""
    order = [entry.producer_id for entry in ours.table]
    return [theirs.pop(one) for one in order if one in theirs] + list(theirs.values())


def aborted_in(folder: Path) -> list[AbortedTxn]:
    return [txn for path in sorted(folder.glob("*.txnindex")) for txn in txn_index.decode(path.read_bytes()).aborted]


def in_snapshots(folder: Path) -> Iterator[dict[int, ProducerEntry]]:
    for path in sorted(folder.glob("*.snapshot")):
        yield {entry.producer_id: entry for entry in producer_snapshot.decode(path.read_bytes())}


def entries_of(snapshot: bytes) -> dict[int, ProducerEntry]:
    return {entry.producer_id: entry for entry in producer_snapshot.decode(snapshot)}


def filled(jvm: ModuleType, folder: Path, seed: int) -> Pair:
    """Kafka's log in a folder and Octavo's producer state after the same random appends; the log is closed."""
    real = RealLog(jvm, folder)
    pair = Pair(real, seed)
    for _ in range(STEPS):
        pair.step()
    real.close()
    return pair


def test_random_appends_are_answered_as_kafka_does(jvm: ModuleType, tmp_path: Path) -> None:  # T3
    seen: dict[str, int] = {}
    for seed in range(5):
        folder = tmp_path / f"t-{seed}"
        pair = filled(jvm, folder, seed)
        seen = {name: seen.get(name, 0) + pair.outcomes.get(name, 0) for name in seen | pair.outcomes}
        assert aborted_in(folder) == pair.aborted
        snapshot = pair.ours.take_snapshot()
        assert snapshot is not None
        *_, theirs = in_snapshots(folder)
        assert entries_of(snapshot) == theirs
    names = {"duplicate", "CLIENT", "COORDINATOR", "REPLICATION", "OutOfOrderSequenceException"}
    names |= {"InvalidProducerEpochException", "InvalidTxnStateException", "TransactionCoordinatorFencedException"}
    assert seen.keys() == names, seen


def test_recovery_finds_the_same_producers(jvm: ModuleType, tmp_path: Path) -> None:
    for seed in range(2):
        folder = tmp_path / f"t-{seed}"
        filled(jvm, folder, seed)
        for pattern in ("*.snapshot", "*.index", "*.txnindex"):
            for path in folder.glob(pattern):
                path.unlink()
        recovered = RealLog(jvm, folder, clean=False)
        recovered.close()
        manager, aborted = ProducerStateManager(), []
        for path in sorted(folder.glob("*.log")):
            found = walk(path.read_bytes())
            aborted += manager.replay(found.data, found.table).aborted
        snapshot = manager.take_snapshot()
        assert snapshot is not None
        *_, theirs = in_snapshots(folder)
        assert entries_of(snapshot) == theirs
        assert aborted == aborted_in(folder)
