"""A log's life in a process that may end at any operation on its files, and what it had promised by then."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from octavo.config import LogConfig
from octavo.errors import OutOfOrderSequenceError
from octavo.format.batches.batch import Origin
from octavo.format.batches.control import ControlType
from octavo.format.batches.walker import walk
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.environment import Environment
from octavo.storage.log.read import Isolation
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recovery.load import LoadRequest
from octavo.system.clock import ManualClock
from tests.crash.fault_filesystem import FaultFileSystem
from tests.storage.batches import batch
from tests.storage.consumed import consume
from tests.storage.producer_batches import marker
from tests.storage.worlds import NOW_MS, ManualScheduler

FOLDER = Path("/logs/t-0")
CONFIG = LogConfig.of(
    {"segment.bytes": 700, "index.interval.bytes": 150, "segment.index.bytes": 200, "retention.ms": -1}
)
IDEMPOTENT, TRANSACTIONAL = 7, 8


@dataclass
class Life:
    """The log's process, and its promises. Checkpoints count as completely written: that has its own tests."""

    filesystem: FaultFileSystem
    log_start_offset: int = 0
    recovery_point: int = 0
    clean: bool = False  # the log was closed, and has not been opened since
    flushed: dict[int, bytes] = field(default_factory=dict)  # base offset → batch
    stable: set[int] = field(default_factory=set)  # offsets of committed records, flushed with their markers
    aborted: set[int] = field(default_factory=set)  # offsets of records whose transactions never commit
    sequences: dict[int, int] = field(default_factory=lambda: {IDEMPOTENT: 0, TRANSACTIONAL: 0})

    def __post_init__(self) -> None:
        self.clock = ManualClock(NOW_MS)
        self.scheduler = ManualScheduler(self.clock)
        self._committed: set[int] = set()
        self._ongoing: set[int] = set()

    def reborn(self, filesystem: FaultFileSystem) -> Life:
        """Another process that knows what the checkpoints say."""
        return Life(filesystem, self.log_start_offset, self.recovery_point, self.clean)

    def open(self, config: LogConfig = CONFIG) -> PartitionLog:
        clean, self.clean = self.clean, False
        self.log = PartitionLog(
            LoadRequest(
                folder=FOLDER,
                config=config,
                environment=Environment(self.scheduler, self.clock, self.filesystem),
                clean=clean,
                log_start_offset=self.log_start_offset,
                recovery_point=self.recovery_point,
            )
        )
        return self.log

    def append(self, count: int = 2) -> None:
        """A batch of an idempotent producer."""
        self._send(IDEMPOTENT, count)

    def transact(self, kind: ControlType, batches: int = 2) -> None:
        """A transaction with its marker."""
        for _ in range(batches):
            first = self._send(TRANSACTIONAL, 2)
            self._ongoing |= {first, first + 1}
            if kind is ControlType.ABORT:
                self.aborted |= self._ongoing
        self.log.append_as_leader(
            marker(0, kind, producer_id=TRANSACTIONAL, timestamp=NOW_MS),
            leader_epoch=0,
            origin=AppendOrigin.COORDINATOR,
            transaction_version=0,
        )
        if kind is ControlType.COMMIT:
            self._committed |= self._ongoing
        self._ongoing = set()

    def flush(self) -> None:
        self.log.flush()
        self.flushed = dict(batches(self.log))
        self.stable = set(self._committed)

    def checkpoint(self) -> None:
        self.log_start_offset, self.recovery_point = self.log.log_start_offset, self.log.recovery_point

    def forget(self, *, before: int = 0, behind: int = 1 << 62) -> None:
        """What is about to be deleted or cut is no longer promised."""
        self.flushed = {offset: data for offset, data in self.flushed.items() if before <= offset < behind}
        self.stable = {offset for offset in self.stable if before <= offset < behind}
        self.aborted = {offset for offset in self.aborted if before <= offset < behind}

    def close(self) -> None:
        """Stop cleanly, which also flushes."""
        found = dict(batches(self.log))
        self.log.close()
        self.flushed, self.stable = found, set(self._committed)
        self.checkpoint()
        self.clean = True

    def _send(self, producer_id: int, count: int) -> int:
        origin = Origin(
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=self.sequences[producer_id],
            is_transactional=producer_id == TRANSACTIONAL,
        )
        data = batch(0, count, timestamp=NOW_MS, value_bytes=40, origin=origin)
        result = self.log.append_as_leader(data, leader_epoch=0)
        self.sequences[producer_id] += count
        return result.first_offset


def batches(log: PartitionLog) -> list[tuple[int, bytes]]:
    """All batches of a log with their base offsets."""
    found, offset = list[tuple[int, bytes]](), log.log_start_offset
    while True:
        data = log.read(offset, 1 << 20, Isolation.LOG_END).read()
        table = walk(data).table
        if not len(table):
            return found
        for row in table:
            assert row["base_offset"] >= offset or not found, "offsets go back"
            found.append((int(row["base_offset"]), data[row["position"] : row["position"] + row["size"]]))
            offset = int(row["base_offset"] + row["last_offset_delta"]) + 1


def files(filesystem: FaultFileSystem) -> dict[str, bytes]:
    """What counts: an empty index says as little as a missing one, and deleted files do not matter."""
    contents = {path.name: bytes(inode.content) for path, inode in filesystem.entries.items()}
    return {name: data for name, data in contents.items() if data and not name.endswith(".deleted")}


def check_found(life: Life, filesystem: FaultFileSystem, config: LogConfig = CONFIG) -> None:
    """After the crash, a process must find everything that was promised. If it crashes as well, the next one must find
    the same, and be able to append."""
    log = life.reborn(filesystem).open(config)
    found = dict(batches(log))
    lost = {offset for offset, data in life.flushed.items() if found.get(offset) != data}
    assert not lost, f"flushed batches at {lost} are gone"
    committed = {record.offset for record in consume(log, Isolation.READ_COMMITTED)}
    assert not life.stable - committed, "flushed records of committed transactions are hidden"
    assert not life.aborted & committed, "records of aborted transactions are delivered"
    _check_duplicates(log, found)
    before, end = files(filesystem), log.log_end_offset
    once_more = Life(filesystem, life.log_start_offset, life.recovery_point).open(config)
    assert (once_more.log_end_offset, dict(batches(once_more))) == (end, found)
    assert files(filesystem) == before
    once_more.append_as_leader(batch(0), leader_epoch=0)
    assert batches(once_more)[-1][0] == end


def _check_duplicates(log: PartitionLog, found: dict[int, bytes]) -> None:
    """A producer that repeats its newest batch gets its offset; older batches may be refused, as in Kafka.

    (A snapshot holds only one batch of each producer.)
    """
    newest = True
    for offset in sorted(found, reverse=True)[:4]:
        row = walk(found[offset]).table[0]
        if row["producer_id"] != IDEMPOTENT:
            continue
        again = bytearray(found[offset])
        again[:8] = bytes(8)
        try:
            result = log.append_as_leader(again, leader_epoch=0)
        except OutOfOrderSequenceError:
            assert not newest, f"the newest batch, at offset {offset}, is not known"
        else:
            assert (result.is_duplicate, result.first_offset) == (True, offset), "a batch is appended twice"
        newest = False
