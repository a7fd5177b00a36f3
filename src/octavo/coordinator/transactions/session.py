"""A producer in this process that uses a transactional id."""

from __future__ import annotations

from octavo.coordinator.transactions import machine
from octavo.coordinator.transactions.coordinator import TransactionCoordinator
from octavo.coordinator.transactions.metadata import VERSION_2, TransactionMetadata
from octavo.errors import ConfigError, IllegalStateError, ProducerFencedError
from octavo.format.names import TopicPartition
from octavo.format.protocol.error_codes import ErrorCode


class Session:
    """The right to use a transactional id until another producer takes it over, a transaction times out, or it expires.

    `metadata` is the state that its producer knows. Unlike a client on the network, a session completes a transaction
    before it goes on.
    """

    def __init__(self, coordinator: TransactionCoordinator, transactional_id: str, timeout_ms: int) -> None:
        self._coordinator = coordinator
        self._states = coordinator.states
        self._id = transactional_id
        with coordinator.lock:
            self.metadata = self._take_over(timeout_ms)
            self._takeover = coordinator.last_takeover(transactional_id)

    def begin(self) -> None:
        """Prepare for a new transaction; one that an error left unfinished is ended first."""
        with self._coordinator.lock:
            known = self._states.complete(self._checked())
            if known.is_ongoing:
                aborted = machine.decide(known, commit=False, supplies=self._states.supplies)
                known = self._states.complete(self._states.write(aborted))
            self.metadata = known

    def is_ended(self) -> bool:
        """Whether the session's transaction is already decided although its producer does not know it."""
        with self._coordinator.lock:
            known = self._checked()
            return known.is_prepared or not self._is_current(known)

    def add_partition(self, topic_partition: TopicPartition) -> None:
        """Add a partition to the transaction, which begins with its first partition."""
        with self._coordinator.lock:
            known = self._states.complete(self._checked())
            if not self._is_current(known):
                raise self._ended(known)
            partitions = frozenset((topic_partition,))
            now_ms = self._states.supplies.now_ms
            outcome = machine.add_partitions(known, machine.next_identity(known), partitions, VERSION_2, now_ms)
            self.metadata = self._states.write(outcome) if isinstance(outcome, TransactionMetadata) else known

    def end(self, *, commit: bool) -> None:
        """Commit or abort. Without partitions nothing happens; a decided transaction is completed.

        TransactionIncompleteError means that it is decided but could not be completed.
        """
        with self._coordinator.lock:
            known = self._checked()
            if known.is_ongoing:
                known = self._states.write(machine.decide(known, commit=commit, supplies=self._states.supplies))
            known = self._states.complete(known)
            was_ended = not self._is_current(known)
            self.metadata = known
            if was_ended and known.is_commit is not commit:
                raise self._ended(known)

    def _take_over(self, timeout_ms: int) -> TransactionMetadata:
        """Initialize the id; the previous producer is fenced, and its open transaction is aborted."""
        known = self._states.get(self._id)
        if known is not None:
            self._states.complete(known)  # raises if that fails, so that nothing else happens under the id
        answer = self._coordinator.take_over(self._id, timeout_ms)
        if answer.error is ErrorCode.CONCURRENT_TRANSACTIONS:
            fenced = self._states.get(self._id)
            assert fenced is not None, "its transaction is aborted"
            self._states.complete(fenced)
            answer = self._coordinator.take_over(self._id, timeout_ms)
        if answer.error is ErrorCode.INVALID_TRANSACTION_TIMEOUT:
            longest_ms = self._coordinator.longest_timeout_ms
            expected = f"expected at most transaction.max.timeout.ms, {longest_ms}"
            raise ConfigError(f"transaction.timeout.ms is {timeout_ms}, {expected}")
        begun = self._states.get(self._id)
        if answer.error is not ErrorCode.NONE or begun is None:
            raise IllegalStateError(f"transactional id {self._id} cannot be used: {answer.error.name}")
        return begun

    def _checked(self) -> TransactionMetadata:
        """The state of the id; raises ProducerFencedError if another producer or a timeout fenced this one."""
        known = self._states.get(self._id)
        if known is None:
            raise ProducerFencedError(f"transactional id {self._id} has expired, because it was not used")
        if self._coordinator.last_takeover(self._id) != self._takeover:
            found = f"producer id {self.metadata.producer_id}, epoch {self.metadata.epoch}"
            expected = f"expected id {known.producer_id}, epoch {known.epoch}"
            why = f"another producer has taken it over, or its transaction timed out: {found}, {expected}"
            raise ProducerFencedError(f"transactional id {self._id}: {why}")
        return known

    def _is_current(self, known: TransactionMetadata) -> bool:
        return (known.producer_id, known.epoch) == (self.metadata.producer_id, self.metadata.epoch)

    def _ended(self, known: TransactionMetadata) -> IllegalStateError:
        ended = "committed" if known.is_commit else "aborted"
        return IllegalStateError(f"transactional id {self._id}: its transaction was {ended} already")
