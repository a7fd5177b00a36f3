"""Partitions that Octavo writes for a real broker, and what a consumer must get from them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from octavo.format.batches.batch import Origin, build_batch
from octavo.format.batches.control import ControlType, EndTransactionMarker, build_marker_batch
from octavo.format.compression import Codec
from octavo.format.record import Header, Record
from octavo.storage.append.append import AppendResult
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.partition_log import PartitionLog
from tests.storage.consumed import ConsumedRecord

# Far from the ids that a broker gives out.
FIRST_PRODUCER_ID = 1_000_000
STAMPED = "LogAppendTime"


class ProducerModel:
    """One of Octavo's producers: what it sends next, and its last batch, to be sent once more."""

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.sequence = 0
        self.transaction: list[ConsumedRecord] | None = None
        self.last: tuple[bytes, AppendResult] | None = None


class Written:
    """A partition's acknowledged records, whoever wrote them."""

    def __init__(self, seed: str, now_ms: int) -> None:
        self.draw = random.Random(seed)
        self.start = 0
        self.records: list[ConsumedRecord] = []
        self.aborted: set[int] = set()
        self.producers = [ProducerModel(FIRST_PRODUCER_ID + number) for number in range(3)]
        self._time_ms = now_ms

    def of(self, isolation: str) -> list[ConsumedRecord]:
        """What a consumer gets."""
        seen = [record for record in self.records if record.offset >= self.start]
        if isolation == "read_uncommitted":
            return seen
        ongoing = [producer.transaction[0].offset for producer in self.producers if producer.transaction]
        stable = min(ongoing, default=1 << 62)
        return [record for record in seen if record.offset < stable and record.offset not in self.aborted]

    def send(
        self,
        log: PartitionLog,
        count: int,
        *,
        codec: Codec = Codec.NONE,
        producer: ProducerModel | None = None,
        transactional: bool = False,
    ) -> None:
        """Send a batch of varied records; times advance unevenly, and sometimes go back."""
        records = [self._record(number) for number in range(count)]
        origin = None
        if producer is not None:
            origin = Origin(
                producer_id=producer.producer_id,
                producer_epoch=0,
                base_sequence=producer.sequence,
                is_transactional=transactional,
            )
        data = build_batch(records, codec=codec, origin=origin)
        result = log.append_as_leader(data, leader_epoch=log.epochs.latest_epoch or 0)
        assert result.last_offset - result.first_offset + 1 == count
        stamp = result.log_append_time
        acknowledged = [
            ConsumedRecord(
                result.first_offset + number,
                record.timestamp if stamp < 0 else stamp,
                "CreateTime" if stamp < 0 else STAMPED,
                *record[2:],
            )
            for number, record in enumerate(records)
        ]
        self.records += acknowledged
        if producer is not None:
            producer.sequence += count
            producer.last = data, result
            if transactional:
                producer.transaction = [*(producer.transaction or []), *acknowledged]

    def end(self, log: PartitionLog, producer: ProducerModel, kind: ControlType) -> None:
        """Commit or abort the producer's transaction."""
        data = build_marker_batch(
            EndTransactionMarker(kind, 0),
            offset=0,
            timestamp=self._time_ms,
            producer_id=producer.producer_id,
            producer_epoch=0,
        )
        epoch = log.epochs.latest_epoch or 0
        log.append_as_leader(data, leader_epoch=epoch, origin=AppendOrigin.COORDINATOR, transaction_version=0)
        if kind is ControlType.ABORT:
            self.aborted |= {record.offset for record in producer.transaction or []}
        producer.transaction = None

    def go_on(self, log: PartitionLog) -> None:
        """Each producer repeats its last batch, which must be recognised, and continues."""
        for producer in self.producers:
            if producer.last is not None:
                data, result = producer.last
                again = log.append_as_leader(data, leader_epoch=log.epochs.latest_epoch or 0)
                assert again.is_duplicate
                assert (again.first_offset, again.last_offset) == (result.first_offset, result.last_offset)
            transactional = producer.transaction is not None
            self.send(log, 3, codec=Codec.GZIP, producer=producer, transactional=transactional)

    def _record(self, number: int) -> Record:
        draw = self.draw
        self._time_ms += draw.choice((0, 0, 1, 7, 400, -300))
        key = draw.choice((None, b"", b"key-%d" % draw.randrange(20)))
        value = draw.choice((None, b"", draw.randbytes(draw.randrange(150)), b"value " * draw.randrange(30)))
        headers: Sequence[Header] = ()
        if draw.random() < 0.2:
            headers = [
                Header("größe", draw.randbytes(3)),
                Header("", None),
                Header("again", b""),
                Header("again", b"2"),
            ]
        return Record(number, self._time_ms, key, value, tuple(headers))


def batches_of_all_codecs(written: Written, log: PartitionLog) -> None:
    """Idempotent producers and those without an id, in turn."""
    for number in range(60):
        producer = written.producers[number % 3] if number % 2 else None
        count = written.draw.choice((1, 3, 20))
        written.send(log, count, codec=list(Codec)[number % len(Codec)], producer=producer)


def transactions(written: Written, log: PartitionLog) -> None:
    """Overlapping transactions of three producers, some over several segments; all are ended."""
    draw = written.draw
    for _ in range(80):
        producer = draw.choice(written.producers)
        if producer.transaction and draw.random() < 0.3:
            written.end(log, producer, draw.choice((ControlType.COMMIT, ControlType.ABORT)))
        else:
            codec = draw.choice((Codec.NONE, Codec.LZ4))
            written.send(log, draw.choice((1, 8)), codec=codec, producer=producer, transactional=True)
        if draw.random() < 0.2:
            written.send(log, 2)
    for producer in written.producers:
        if producer.transaction:
            written.end(log, producer, ControlType.ABORT)


def open_transaction(written: Written, log: PartitionLog) -> None:
    """The last transaction has no marker."""
    transactions(written, log)
    written.send(log, 5, producer=written.producers[0], transactional=True)
    written.send(log, 5)


def records_deleted(written: Written, log: PartitionLog) -> None:
    """The log starts inside a batch of its second segment."""
    batches_of_all_codecs(written, log)
    written.start = log.delete_records(log.segments.base_offsets[1] + 2)
    log.retain()


Writer = Callable[[Written, PartitionLog], None]

# Topic, its configs (underscores instead of dots), what is written to it.
TOPICS: dict[str, tuple[dict[str, str], Writer]] = {
    "codecs": ({}, batches_of_all_codecs),
    "stamped": ({"message_timestamp_type": STAMPED}, batches_of_all_codecs),
    "recompressed": ({"compression_type": "zstd"}, batches_of_all_codecs),
    "transactions": ({}, transactions),
    "ongoing": ({}, open_transaction),
    "deleted": ({}, records_deleted),
}
SMALL = {"internal_segment_bytes": "5000", "index_interval_bytes": "400", "retention_ms": "-1"}
