"""Records of several partitions: each has its turn, and what one cannot give does not cost what others gave."""

from __future__ import annotations

from octavo.client.partition_state import PartitionState
from octavo.format.names import TopicPartition
from octavo.scan.records import ConsumerRecord


class Collector:
    """The partitions that a consumer reads, which come and go in `states`."""

    def __init__(self) -> None:
        self.states: dict[TopicPartition, PartitionState] = {}
        self._turn = 0

    def collect(self, limit: int) -> dict[TopicPartition, list[ConsumerRecord]]:
        """What the partitions have at once, at most so many records; positions move only with what is returned.

        As in Kafka's FetchCollector an error ends the collecting; where something was collected before, the next call
        raises it.
        """
        found: dict[TopicPartition, list[ConsumerRecord]] = {}
        ends: list[tuple[PartitionState, int]] = []
        for state in self.in_turn():
            if not limit:
                break
            try:
                records, position = state.take(limit)
            except Exception:
                if not found:
                    raise
                self._turn = self._readable().index(state)  # it comes first next time
                break
            if records:
                found[state.name] = records
                ends.append((state, position))
                limit -= len(records)
        for state, position in ends:
            state.advance(position)
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
