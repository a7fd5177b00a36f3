"""Records of several partitions: each has its turn, and what one cannot give does not cost what others gave."""

from __future__ import annotations

from octavo.client.consumer.partition_state import PartitionState
from octavo.format.names import TopicPartition
from octavo.scanner.reading.records import ConsumerRecord


class Collected:
    """Records that are about to be handed out: positions move with that, all or none of them."""

    def __init__(self) -> None:
        self.records: dict[TopicPartition, list[ConsumerRecord]] = {}
        self._moves: list[tuple[PartitionState, int | None, int]] = []

    def add(self, state: PartitionState, records: list[ConsumerRecord], position: int) -> None:
        self._moves.append((state, state.position, position))
        self.records[state.name] = records

    def hand_out(self) -> dict[TopicPartition, list[ConsumerRecord]]:
        for state, _, position in self._moves:
            state.advance(position)
        return self.records

    def take_back(self) -> None:
        for state, position, _ in self._moves:
            state.advance(position)


class Collector:
    """The partitions that a consumer reads, which come and go in `states`."""

    def __init__(self) -> None:
        self.states: dict[TopicPartition, PartitionState] = {}
        self._turn = 0

    def collect(self, limit: int) -> Collected:
        """What the partitions have at once, at most so many records.

        As in Kafka's FetchCollector an error ends the collecting; where something was collected before, the next call
        raises it.
        """
        found = Collected()
        for state in self.in_turn():
            if not limit:
                break
            try:
                records, position = state.take(limit)
            except Exception:
                if not found.records:
                    raise
                self._turn = self._readable().index(state)  # it comes first next time
                break
            if records:
                found.add(state, records, position)
                limit -= len(records)
        return found

    def in_turn(self) -> list[PartitionState]:
        """The partitions to read, another one first each time."""
        states = self._readable()
        if not states:
            return []
        first, self._turn = self._turn % len(states), self._turn + 1
        return states[first:] + states[:first]

    def _readable(self) -> list[PartitionState]:
        return [state for state in self.states.values() if not state.is_paused]
