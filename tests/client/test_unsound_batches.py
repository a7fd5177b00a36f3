"""A batch that a consumer cannot read raises an error that names it. Offsets that go back cause no endless loop."""

from __future__ import annotations

from pathlib import Path

import pytest

import octavo
from octavo.errors import CorruptionError, CorruptRecordError
from octavo.format.batches.batch import build_batch
from octavo.format.compression import Codec
from octavo.format.names import CLEAN_SHUTDOWN, TopicPartition
from octavo.format.record import Record
from octavo.kernels.layout import BATCH_OVERHEAD
from tests.format.crafted import crafted
from tests.scanner.segments import write_segment
from tests.storage.batches import batch


@pytest.mark.parametrize("fields", [{"recordsCount": -1}, {"magic": 3}])
@pytest.mark.parametrize("check_crcs", [True, False])
def test_a_consumer_says_which_batch_it_cannot_read(tmp_path: Path, fields: dict[str, int], check_crcs: bool) -> None:
    write_segment(tmp_path / "orders-0", 0, crafted(batch(0), **fields), batch(1))
    with octavo.LogDir(tmp_path, background=False) as logs:
        consumer = logs.consumer("orders", check_crcs=check_crcs)
        with pytest.raises(CorruptRecordError, match="the batch at offset 0 is damaged; seek past it to go on"):
            next(iter(consumer))
        consumer.seek(TopicPartition("orders", 0), 1)
        assert next(iter(consumer)).offset == 1


@pytest.mark.parametrize("fetch_bytes", [1, 1 << 20])
def test_offsets_that_go_back_do_not_loop_forever(tmp_path: Path, fetch_bytes: int) -> None:
    """What comes again is skipped, as in Kafka's consumer."""
    write_segment(tmp_path / "orders-0", 0, batch(0, 3), batch(1), batch(3, 2), batch(2), batch(5))
    with octavo.LogDir(tmp_path, background=False) as logs:
        found = [record.offset for record in logs.consumer("orders", max_partition_fetch_bytes=fetch_bytes)]
    assert found == [0, 1, 2, 3, 4, 5]


def test_a_batch_that_claims_to_lie_beyond_the_log_is_damaged(tmp_path: Path) -> None:
    """No CRC covers the base offset. A consumer that followed it would be sent back to the start again and again."""
    write_segment(tmp_path / "orders-0", 0, batch(0), (1 << 40).to_bytes(8) + batch(1)[8:])
    write_segment(tmp_path / "orders-0", 2, batch(2))
    (tmp_path / CLEAN_SHUTDOWN).write_bytes(b"")
    with octavo.LogDir(tmp_path, background=False) as logs:
        consumer, found = logs.consumer("orders"), list[int]()
        with pytest.raises(CorruptRecordError, match="is damaged; seek past it to go on"):
            found.extend(record.offset for record in consumer)
        consumer.seek(TopicPartition("orders", 0), 2)
        assert (found, [record.offset for record in consumer]) == ([0], [2])


def test_record_offsets_that_go_back_do_not_loop_forever(tmp_path: Path) -> None:
    """In each topic, another byte whose value is 2 becomes 0. One is the offset delta of the second record, which then
    claims to be the first."""
    two = batch(0, 2)
    for position in range(BATCH_OVERHEAD, len(two)):
        if two[position] == 2:  # the varint of 1
            changed = two[:position] + b"\x00" + two[position + 1 :]
            write_segment(tmp_path / f"t{position}-0", 0, batch(0), crafted(changed), batch(2))
    with octavo.LogDir(tmp_path, background=False) as logs:
        assert logs.topics
        for topic in logs.topics:
            consumer = logs.consumer(topic)
            for _ in range(10):
                try:
                    if next(consumer, None) is None:
                        break
                except CorruptionError:
                    break
            else:
                pytest.fail(f"{topic} has no end")


def test_a_batch_that_cannot_be_unpacked_is_named_with_its_place(tmp_path: Path) -> None:
    whole = build_batch([Record(1, 0, b"k", b"v" * 1000)], codec=Codec.ZSTD)
    zeroed = crafted(whole[:BATCH_OVERHEAD] + bytes(len(whole) - BATCH_OVERHEAD))
    path = write_segment(tmp_path / "orders-0", 0, batch(0), zeroed, batch(2))
    with octavo.LogDir(tmp_path, background=False) as logs, pytest.raises(CorruptionError) as raised:
        list(logs.consumer("orders"))
    assert (raised.value.path, raised.value.position) == (str(path), len(batch(0)) + BATCH_OVERHEAD)
