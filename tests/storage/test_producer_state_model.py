"""Random appends, reloads and expiry, compared with a plain model of the rules."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from octavo.errors import AppendRejected
from octavo.format.batches.walker import walk
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.producers.state import ProducerStateManager
from tests.storage.producer_batches import ABORT, COMMIT, MAX_SEQUENCE, append, data, marker

PRODUCERS = st.integers(1, 3)
ORIGINS = st.sampled_from(
    [AppendOrigin.CLIENT, AppendOrigin.CLIENT, AppendOrigin.COORDINATOR, AppendOrigin.REPLICATION]
)
CLIENT, COORDINATOR = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR
EXPIRATION_MS = 1000


@dataclass
class Known:
    """What the model knows about a producer; `sequences` are (first, last, last offset, records, timestamp)."""

    epoch: int = -1
    coordinator_epoch: int = -1
    timestamp: int = -1
    begun_at: int | None = None
    sequences: list[tuple[int, int, int, int, int]] = field(default_factory=list)

    def follow(self, epoch: int) -> None:
        if epoch != self.epoch:
            self.epoch, self.sequences = epoch, []


class Model(RuleBasedStateMachine):
    """Kafka's rules, written again as directly as possible."""

    @initialize()
    def begin(self) -> None:
        self.manager = ProducerStateManager(expiration_ms=EXPIRATION_MS)
        self.producers: dict[int, Known] = {}
        self.expired: set[int] = set()
        self.log: list[bytes] = []
        self.unstable: dict[int, int | None] = {}  # first offset of each transaction to its marker's, if it has one
        self.end = 0
        self.high_watermark = 0
        self.now_ms = 0

    @rule(
        producer_id=PRODUCERS,
        origin=ORIGINS,
        epoch_step=st.sampled_from([0, 0, 0, 0, 1, -1]),
        step=st.sampled_from([1, 1, 1, 1, 2, 0, -1]),
        from_zero=st.booleans(),
        count=st.integers(1, 3),
        transactional=st.booleans(),
        wraps=st.integers(0, 9),
    )
    def write(
        self,
        producer_id: int,
        origin: AppendOrigin,
        epoch_step: int,
        step: int,
        from_zero: bool,
        count: int,
        transactional: bool,
        wraps: int,
    ) -> None:
        known = self.producers.get(producer_id, Known())
        epoch = max(known.epoch + epoch_step, 0)
        last = known.sequences[-1][1] if known.sequences else -1
        base = (last + step) % (MAX_SEQUENCE + 1)
        base = 0 if from_zero and epoch != known.epoch else MAX_SEQUENCE - 1 if wraps == 9 else base
        self._append_data(producer_id, origin, epoch, base, count, transactional)

    @rule(producer_id=PRODUCERS, which=st.integers(0, 6), transactional=st.booleans())
    def write_again(self, producer_id: int, which: int, transactional: bool) -> None:
        known = self.producers.get(producer_id)
        if known is not None and which < len(known.sequences):
            first, _, _, count, _ = known.sequences[-1 - which]
            self._append_data(producer_id, CLIENT, known.epoch, first, count, transactional)

    def _append_data(
        self, producer_id: int, origin: AppendOrigin, epoch: int, base: int, count: int, transactional: bool
    ) -> None:
        known = self.producers.get(producer_id, Known())
        last = (base + count - 1) % (MAX_SEQUENCE + 1)
        batch = data(
            self.end,
            base,
            epoch=epoch,
            count=count,
            producer_id=producer_id,
            transactional=transactional,
            timestamp=self.now_ms,
        )
        cached = [entry for entry in known.sequences[-5:] if entry[:2] == (base, last)]
        if origin is CLIENT and epoch == known.epoch and cached:
            checked, _ = append(self.manager, batch)
            assert checked.duplicate is not None
            assert (checked.duplicate.last_offset, checked.duplicate.timestamp) == (cached[0][2], cached[0][4])
            return
        expected = (known.sequences[-1][1] + 1) % (MAX_SEQUENCE + 1) if known.sequences else 0
        expected = 0 if epoch != known.epoch else expected
        is_known = known.epoch != -1
        refused = "epoch" if origin in (CLIENT, COORDINATOR) and epoch < known.epoch else None
        refused = refused or ("sequence" if origin is CLIENT and is_known and base != expected else None)
        refused = refused or ("state" if known.begun_at is not None and not transactional else None)
        if self._append(batch, origin, None, refused):
            known.follow(epoch)
            known.sequences.append((base, last, self.end + count - 1, count, self.now_ms))
            known.timestamp = self.now_ms
            if transactional and known.begun_at is None:
                known.begun_at = self.end
                self.unstable[self.end] = None
            self._took(producer_id, known, batch, count)

    @rule(
        producer_id=PRODUCERS,
        is_replicated=st.booleans(),
        version=st.integers(0, 2),
        epoch_step=st.sampled_from([0, 0, 1, 1, 2, -1]),
        coordinator_step=st.sampled_from([0, 0, 0, 1, -1]),
        is_abort=st.booleans(),
    )
    def end_transaction(
        self,
        producer_id: int,
        is_replicated: bool,
        version: int,
        epoch_step: int,
        coordinator_step: int,
        is_abort: bool,
    ) -> None:
        known = self.producers.get(producer_id, Known())
        epoch, coordinator_epoch = max(known.epoch + epoch_step, 0), max(known.coordinator_epoch + coordinator_step, 0)
        batch = marker(
            self.end,
            ABORT if is_abort else COMMIT,
            epoch=epoch,
            coordinator_epoch=coordinator_epoch,
            producer_id=producer_id,
            timestamp=self.now_ms,
        )
        is_retry = version == 2 and epoch == known.epoch and known.begun_at is None
        is_old = epoch <= known.epoch if version == 2 else epoch < known.epoch
        refused = (
            "epoch" if is_old and not is_retry else "fenced" if coordinator_epoch < known.coordinator_epoch else None
        )
        origin = AppendOrigin.REPLICATION if is_replicated else COORDINATOR
        if self._append(batch, origin, None if is_replicated else version, None if is_replicated else refused):
            known.follow(epoch)
            known.coordinator_epoch, known.timestamp = coordinator_epoch, self.now_ms
            if known.begun_at is not None:
                self.unstable[known.begun_at] = self.end
            known.begun_at = None
            self._took(producer_id, known, batch, 1)

    def _append(self, batch: bytes, origin: AppendOrigin, version: int | None, refused: str | None) -> bool:
        try:
            append(self.manager, batch, origin=origin, transaction_version=version)
        except AppendRejected as error:
            names = {45: "sequence", 47: "epoch", 48: "state", 52: "fenced"}
            assert names[error.code] == refused
            return False
        assert refused is None
        return True

    def _took(self, producer_id: int, known: Known, batch: bytes, count: int) -> None:
        self.producers[producer_id] = known
        self.log.append(batch)
        self.end += count

    @rule(to_end=st.booleans())
    def replicate_further(self, to_end: bool) -> None:
        self.high_watermark = self.end if to_end else max(self.high_watermark, self.end - 2)
        self.manager.transactions.forget_before(self.high_watermark)

    @rule(ms=st.sampled_from([1, 10, 500, 1000]))
    def wait(self, ms: int) -> None:
        self.now_ms += ms

    @rule()
    def expire(self) -> None:
        self.manager.remove_expired(self.now_ms)
        self._expire()

    def _expire(self) -> None:
        for producer_id, known in list(self.producers.items()):
            if known.begun_at is None and self.now_ms - known.timestamp >= EXPIRATION_MS:
                del self.producers[producer_id]
                self.expired.add(producer_id)

    @precondition(lambda self: self.end > self.manager.last_snapshot_offset)
    @rule()
    def reload(self) -> None:
        """A restart. A snapshot has the last batch of each producer, and one timestamp for batch and producer."""
        snapshot = self.manager.take_snapshot()
        assert snapshot is not None
        self.manager = ProducerStateManager(expiration_ms=EXPIRATION_MS)
        self.manager.load(snapshot, self.end, self.now_ms)
        self._expire()
        for known in self.producers.values():
            known.sequences = [(*batch[:4], known.timestamp) for batch in known.sequences[-1:]]
        self.unstable = {first: last for first, last in self.unstable.items() if last is None}

    @precondition(lambda self: self.log)
    @rule(split=st.integers(0, 100))
    def replay(self, split: int) -> None:
        """The whole log gives the same state again, except for producers that have expired."""
        manager = ProducerStateManager()
        for batches in (self.log[: split % len(self.log)], self.log[split % len(self.log) :]):
            found = walk(b"".join(batches))
            manager.replay(found.data, found.table)
        replayed = {entry.producer_id: entry for entry in manager.table}
        for entry in self.manager.table:
            again = replayed[entry.producer_id]
            if entry.producer_id not in self.expired:
                kept = list(again.batches)[len(again.batches) - len(entry.batches) :]
                assert [batch[:3] for batch in kept] == [batch[:3] for batch in entry.batches]
                again.batches = entry.batches
                assert again == entry
        assert manager.transactions.ongoing == self.manager.transactions.ongoing

    @invariant()
    def agrees(self) -> None:
        found = {entry.producer_id: entry for entry in self.manager.table}
        assert found.keys() == self.producers.keys()
        for producer_id, known in self.producers.items():
            entry = found[producer_id]
            fields = entry.epoch, entry.coordinator_epoch, entry.last_timestamp, entry.current_txn_first_offset
            assert fields == (known.epoch, known.coordinator_epoch, known.timestamp, known.begun_at)
            batches = [(batch.last_sequence, batch.last_offset, batch.timestamp) for batch in entry.batches]
            assert batches == [(last, offset, ms) for _, last, offset, _, ms in known.sequences[-5:]]

    @invariant()
    def agrees_on_what_is_stable(self) -> None:
        undecided = [first for first, last in self.unstable.items() if last is None or last >= self.high_watermark]
        assert self.manager.transactions.first_unstable_offset() == min(undecided, default=None)


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)
