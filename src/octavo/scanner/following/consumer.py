"""`Scan.consumer`: a consumer for files that someone else may be writing.

It takes no lock and changes no file, so it works next to a running broker or an open `LogDir`. It finds what is
appended later by looking at the files again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from octavo.errors import IllegalStateError, UnknownTopicOrPartitionError
from octavo.format.names import Partition, TopicPartition, as_topic_partition
from octavo.scanner.following.collect import Collector
from octavo.scanner.following.followed import Followed
from octavo.scanner.reading.records import ConsumerRecord
from octavo.system.clock import end_of
from octavo.system.closing import Closing
from octavo.system.held_records import write_held
from octavo.system.shown import some

# How long to sleep between two looks when there is nothing new: a look lists a folder and reads the end of a log.
_LOOK_SECONDS = 0.05


class ScanConsumer(Closing):
    """Reads the partitions of a scan, each from its position on. Not thread-safe: use one per thread.

    Partitions that are created later are not read. With a group, it starts where the group has committed; it never
    commits anything itself.
    """

    def __init__(
        self,
        partitions: Iterable[Followed],
        committed: Mapping[TopicPartition, int],
        *,
        consumer_timeout_ms: float,
        max_poll_records: int,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.is_closed = False
        self._partitions = {partition.topic_partition: partition for partition in partitions}
        self._committed = committed
        self._timeout_ms = consumer_timeout_ms
        self._limit = max_poll_records
        self._sleep = sleep
        self._collector = Collector(self._partitions)
        for topic_partition, offset in committed.items():
            if topic_partition in self._partitions:
                self._partitions[topic_partition].seek(offset)

    def __repr__(self) -> str:
        return f"<ScanConsumer {'closed' if self.is_closed else some(self._partitions) or 'of nothing'}>"

    def assignment(self) -> set[TopicPartition]:
        """The partitions that are read."""
        return set(self._partitions)

    def poll(self, timeout_ms: float = 0, max_records: int | None = None) -> dict[TopicPartition, list[ConsumerRecord]]:
        """The next records by partition; waits up to `timeout_ms` for the first one (-1: without limit)."""
        if self.is_closed:
            raise IllegalStateError("the consumer is closed")
        end = end_of(timeout_ms)
        self._write_held()
        limit = self._limit if max_records is None else max_records
        while not (found := self._collector.collect(limit)).records and self._wait(end):
            pass
        try:
            return found.hand_out()
        except BaseException:  # an interrupt: nobody got the records
            found.take_back()
            raise

    def _write_held(self) -> None:
        write_held({partition.directory for partition in self._partitions.values()})

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """Yield one record after the other; ends after consumer_timeout_ms without a new one."""
        end = end_of(self._timeout_ms)
        found = True
        while not self.is_closed:
            is_last_look = end is not None and time.monotonic() >= end
            if found or is_last_look:  # while it waits, linger.ms decides when producers append
                self._write_held()
            found = False
            for partition in self._collector.in_turn():
                records, position = partition.take(self._limit)
                if records:
                    yield from self._handed_out(partition, records, position)
                    found, end = True, end_of(self._timeout_ms)
                    break
            else:
                if is_last_look:
                    return
                self._wait(end)

    def _handed_out(
        self, partition: Followed, records: list[ConsumerRecord], position: int
    ) -> Iterator[ConsumerRecord]:
        """Yield the records of one partition, and move its position along with them, until a seek or a pause."""
        seeks = partition.seeks
        for record in records:
            partition.advance(record.offset + 1)
            yield record
            if partition.seeks != seeks or partition.is_paused or self.is_closed:
                return
        partition.advance(position)

    def position(self, partition: Partition) -> int:
        """The offset of the next record to be returned."""
        return self._one(partition).begin()

    def seek(self, partition: Partition, offset: int) -> None:
        """Continue from an offset."""
        if offset < 0:
            raise IllegalStateError(f"cannot seek to offset {offset}: it is below 0")
        self._one(partition).seek(offset)

    def seek_to_timestamp(self, timestamp: int, *partitions: Partition) -> None:
        """Continue with the first record of this time (milliseconds) or later, or at the end if there is none: in these
        partitions, or in all."""
        for partition in self._chosen(partitions):
            offset = partition.first_from(timestamp)
            partition.seek(partition.reach().end if offset is None else offset)

    def seek_to_beginning(self, *partitions: Partition) -> None:
        """Go back to the first records of these partitions, or of all."""
        for partition in self._chosen(partitions):
            partition.seek(partition.reach().start)

    def seek_to_end(self, *partitions: Partition) -> None:
        """Skip to the end of these partitions, or of all."""
        for partition in self._chosen(partitions):
            partition.seek(partition.reach().end)

    def pause(self, *partitions: Partition) -> None:
        """Return no records from these partitions, or from any if none is named, until `resume`."""
        for partition in self._chosen(partitions):
            partition.is_paused = True

    def resume(self, *partitions: Partition) -> None:
        """End the pause of these partitions, or of all if none is named."""
        for partition in self._chosen(partitions):
            partition.is_paused = False

    def paused(self) -> set[TopicPartition]:
        """The partitions that are paused."""
        return {topic_partition for topic_partition, partition in self._partitions.items() if partition.is_paused}

    def beginning_offsets(self, partitions: Iterable[Partition]) -> dict[TopicPartition, int]:
        """The log start offset of each partition."""
        return {partition: self._one(partition).reach().start for partition in map(as_topic_partition, partitions)}

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[TopicPartition, int]:
        """For each partition, the offset after the last record that this consumer may see now."""
        return {partition: self._one(partition).reach().end for partition in map(as_topic_partition, partitions)}

    def offsets_for_times(self, times: Mapping[Partition, int]) -> dict[TopicPartition, int | None]:
        """For each partition, the offset of the first record of the given time (milliseconds) or later; None if there
        is none."""
        named = {as_topic_partition(partition): timestamp for partition, timestamp in times.items()}
        return {partition: self._one(partition).first_from(timestamp) for partition, timestamp in named.items()}

    def committed(self, partition: Partition) -> int | None:
        """The offset that the group had committed for a partition when this consumer was created, or None."""
        return self._committed.get(as_topic_partition(partition))

    def commit(self, offsets: object = None) -> None:
        """Raise: a scan consumer writes nothing."""
        raise IllegalStateError(
            "a consumer over a scan only reads; to commit a group's offsets, open the directory with octavo.LogDir and"
            " use its consumer"
        )

    def close(self) -> None:
        """Drop the partitions; no file stays open."""
        self.is_closed = True
        self._partitions.clear()

    def _wait(self, end: float | None) -> bool:
        """Sleep briefly if there is time to look again; returns whether there is."""
        left = _LOOK_SECONDS if end is None else min(end - time.monotonic(), _LOOK_SECONDS)
        if left <= 0 or self.is_closed:
            return False
        self._sleep(left)
        return True

    def _one(self, partition: Partition) -> Followed:
        if self.is_closed:
            raise IllegalStateError("the consumer is closed")
        topic_partition = as_topic_partition(partition)
        if topic_partition not in self._partitions:
            raise UnknownTopicOrPartitionError(f"partition {topic_partition} is not in the scan")
        return self._partitions[topic_partition]

    def _chosen(self, partitions: tuple[Partition, ...]) -> list[Followed]:
        return [self._one(topic_partition) for topic_partition in partitions or tuple(self._partitions)]
