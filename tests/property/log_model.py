"""A partition's log as a list of batches: what its readers must see, computed again for each question."""

from __future__ import annotations

from typing import NamedTuple

from octavo.format.batches.control import ControlType


class ModelBatch(NamedTuple):
    """A batch in the log; one with a marker has no records that readers see."""

    base_offset: int
    size: int  # in records
    timestamp: int
    producer_id: int = -1
    sequence: int = -1
    is_transactional: bool = False
    marker: ControlType | None = None

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.size

    @property
    def offsets(self) -> range:
        return range(self.base_offset, self.next_offset)


class LogModel:
    """Batches in offset order, and where the log begins and ends."""

    def __init__(self) -> None:
        self.batches: list[ModelBatch] = []
        self.start = self.end = 0

    def add(self, batch: ModelBatch) -> None:
        self.batches.append(batch)
        self.end = batch.next_offset

    def cut(self, offset: int) -> None:
        """Drop the batches that reach the offset; the log ends there."""
        self.batches = [kept for kept in self.batches if kept.next_offset <= offset]
        self.end = offset

    def reload(self, active_base_offset: int) -> None:
        """A log that was cut inside a batch ends after the previous one, once it is loaded again.

        If it then ends before its checkpointed start, it begins at that start, empty.
        """
        last = self.batches[-1].next_offset if self.batches else 0
        self.end = max(last, active_base_offset)
        if self.end < self.start:
            self.batches, self.end = [], self.start

    def last_of(self, producer_id: int) -> ModelBatch | None:
        """The producer's newest batch of records."""
        sent = [one for one in self.batches if one.producer_id == producer_id and one.marker is None]
        return sent[-1] if sent else None

    def ongoing(self) -> dict[int, list[ModelBatch]]:
        """The batches of each producer's open transaction."""
        return self._transactions()[0]

    def committed(self, *, remembers_all: bool) -> list[int]:
        """The offsets that a committed reader gets.

        A transaction with no record left keeps readers from what follows it, as long as the log remembers it.
        """
        ongoing, aborted = self._transactions()
        firsts = [
            max(known[0].base_offset, self.start)
            for batches in ongoing.values()
            if (known := [batch for batch in batches if remembers_all or batch.next_offset > self.start])
        ]
        stable = min(firsts, default=self.end)
        return [offset for offset in self.records() if offset < stable and offset not in aborted]

    def records(self) -> list[int]:
        """The offsets of all records."""
        batches = (batch for batch in self.batches if batch.marker is None)
        return [offset for batch in batches for offset in batch.offsets if offset >= self.start]

    def timestamps(self) -> list[tuple[int, int]]:
        """Time and offset of each record and marker: those of a batch ascend by 1."""
        return [
            (batch.timestamp + number, offset) for batch in self.batches for number, offset in enumerate(batch.offsets)
        ]

    def _transactions(self) -> tuple[dict[int, list[ModelBatch]], set[int]]:
        ongoing: dict[int, list[ModelBatch]] = {}
        aborted: set[int] = set()
        for batch in self.batches:
            if batch.marker is not None:
                ended = ongoing.pop(batch.producer_id, [])
                if batch.marker is ControlType.ABORT:
                    aborted |= {offset for one in ended for offset in one.offsets}
            elif batch.is_transactional:
                ongoing.setdefault(batch.producer_id, []).append(batch)
        return ongoing, aborted
