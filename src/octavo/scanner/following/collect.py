"""Collects records of several partitions in turn; an error in one does not lose the records of the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from octavo.format.names import TopicPartition
from octavo.scanner.reading.records import ConsumerRecord


class ConsumedPartition(Protocol):
    """A partition that a consumer reads. `advance` moves its position; `take` does so only past gaps, or by a reset."""

    is_paused: bool

    @property
    def topic_partition(self) -> TopicPartition: ...

    @property
    def position(self) -> int | None: ...

    def take(self, limit: int, /) -> tuple[list[ConsumerRecord], int]: ...

    def advance(self, offset: int | None, /) -> None: ...


_State = TypeVar("_State", bound=ConsumedPartition)


class Collected:
    """Records about to be returned; either all positions move with them, or none does."""

    def __init__(self) -> None:
        self.records: dict[TopicPartition, list[ConsumerRecord]] = {}
        self._moves: list[tuple[ConsumedPartition, int | None, int]] = []

    def add(self, state: ConsumedPartition, records: list[ConsumerRecord], position: int) -> None:
        self._moves.append((state, state.position, position))
        self.records[state.topic_partition] = records

    def hand_out(self) -> dict[TopicPartition, list[ConsumerRecord]]:
        for state, _, position in self._moves:
            state.advance(position)
        return self.records

    def take_back(self) -> None:
        for state, position, _ in self._moves:
            state.advance(position)


class Collector(Generic[_State]):
    """Collects from `states`, the partitions that a consumer currently reads."""

    def __init__(self, states: Mapping[TopicPartition, _State]) -> None:
        self._states = states
        self._turn = 0

    def collect(self, limit: int) -> Collected:
        """The records that the partitions currently have, at most `limit`.

        As in Kafka's FetchCollector, an error ends the call, but is raised only if nothing was collected before it;
        otherwise the next call begins with that partition.
        """
        collected = Collected()
        for state in self.in_turn():
            if not limit:
                break
            try:
                records, position = state.take(limit)
            except Exception:
                if not collected.records:
                    raise
                self._turn = self._readable().index(state)  # this partition comes first next time
                break
            if records:
                collected.add(state, records, position)
                limit -= len(records)
        return collected

    def in_turn(self) -> list[_State]:
        """The partitions that are not paused, starting with a different one each time."""
        states = self._readable()
        if not states:
            return []
        first, self._turn = self._turn % len(states), self._turn + 1
        return states[first:] + states[:first]

    def _readable(self) -> list[_State]:
        return [state for state in self._states.values() if not state.is_paused]
