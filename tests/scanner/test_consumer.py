"""A consumer over a scan: the reading calls of a consumer, without a lock, next to any writer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import octavo
from octavo.errors import (
    CorruptRecordError,
    IllegalStateError,
    OffsetOutOfRangeError,
    ScanError,
    UnknownTopicOrPartitionError,
)
from octavo.format.names import FileKind, TopicPartition
from octavo.scanner.following.consumer import ScanConsumer
from octavo.scanner.following.followed import Followed
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

ORDERS = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 1)


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[octavo.LogDir]:
    """A directory that its owner has open: partition 0 of orders has offsets 0 to 9, one batch per record."""
    with octavo.LogDir(tmp_path / "logs", background=False) as logs:
        logs.create_topic("orders", 2, {"segment.bytes": 1024, "retention.ms": -1})
        send(logs, range(10))
        yield logs


def send(logs: octavo.LogDir, values: range, partition: int = 0) -> None:
    with logs.producer() as producer:
        for value in values:
            producer.send("orders", b"%d" % value, partition=partition, timestamp=1000 + value).result()


def root(logs: octavo.LogDir) -> Path:
    return logs.log("orders", 0).folder.parent


def consumer(logs: octavo.LogDir, **options: Any) -> ScanConsumer:
    given = {name: options.pop(name) for name in ("isolation_level", "from_offset", "on_damage") if name in options}
    return octavo.scan(root(logs), topics=["orders"], **given).consumer(**options)


def offsets(found: ScanConsumer) -> list[int]:
    return [record.offset for record in found]


def contents(folder: Path) -> dict[Path, tuple[int, bytes]]:
    return {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in folder.rglob("*") if file.is_file()}


def test_it_follows_what_the_owner_appends_and_changes_nothing(logs: octavo.LogDir) -> None:
    reading = consumer(logs)
    assert offsets(reading) == list(range(10))
    assert offsets(reading) == []
    send(logs, range(10, 60))  # over several segments
    before = contents(root(logs))
    assert offsets(reading) == list(range(10, 60))
    assert contents(root(logs)) == before
    assert reading.position(ORDERS) == 60


def test_polls_take_some_at_a_time_and_partitions_in_turn(logs: octavo.LogDir) -> None:
    send(logs, range(4), partition=1)
    reading = consumer(logs)
    found = [reading.poll(max_records=3) for _ in range(6)]
    assert all(sum(map(len, several.values())) <= 3 for several in found)
    by_partition: dict[TopicPartition, list[int]] = {ORDERS: [], OTHER: []}
    for several in found:
        for name, records in several.items():
            by_partition[name] += [record.offset for record in records]
    assert by_partition == {ORDERS: list(range(10)), OTHER: list(range(4))}
    assert len(found[0]) == 1
    assert found[0].keys() != found[1].keys()


def test_an_interrupted_poll_loses_nothing(logs: octavo.LogDir, monkeypatch: pytest.MonkeyPatch) -> None:
    send(logs, range(4), partition=1)
    reading, advance, moved = consumer(logs), Followed.advance, list[Followed]()

    def interrupted(self: Followed, offset: int | None) -> None:
        advance(self, offset)
        moved.append(self)
        if len(moved) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Followed, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reading.poll()
    assert {name: len(records) for name, records in reading.poll().items()} == {ORDERS: 10, OTHER: 4}


def test_a_loop_that_is_left_goes_on_where_it_was(logs: octavo.LogDir) -> None:
    reading = consumer(logs)
    for record in reading:
        if record.offset == 3:
            break
    assert reading.position(ORDERS) == 4
    assert offsets(reading) == list(range(4, 10))


def test_seeks_move_the_position(logs: octavo.LogDir) -> None:
    reading = consumer(logs)
    reading.seek(ORDERS, 7)
    assert offsets(reading) == [7, 8, 9]
    reading.seek_to_beginning()
    assert next(iter(reading)).offset == 0
    reading.seek_to_end(ORDERS)
    assert offsets(reading) == []
    reading.seek_to_timestamp(1008, ORDERS)
    assert offsets(reading) == [8, 9]
    reading.seek_to_timestamp(5000, ORDERS)
    assert reading.position(ORDERS) == 10
    seen = []
    reading.seek(ORDERS, 0)
    for record in reading:
        seen.append(record.offset)
        if record.offset == 2:
            reading.seek(ORDERS, 8)
    assert seen == [0, 1, 2, 8, 9]
    with pytest.raises(IllegalStateError, match="cannot seek to offset -1"):
        reading.seek(ORDERS, -1)
    with pytest.raises(UnknownTopicOrPartitionError, match="partition orders-7 is not in the scan"):
        reading.seek(("orders", 7), 0)


def test_a_pause_inside_a_loop(logs: octavo.LogDir) -> None:
    reading, seen = consumer(logs), []
    for record in reading:
        seen.append(record.offset)
        if record.offset == 2:
            reading.pause(ORDERS)
    assert seen == [0, 1, 2]
    reading.resume()
    assert [record.offset for record in reading] == list(range(3, 10))


def test_offsets_can_be_asked_for_and_partitions_paused(logs: octavo.LogDir) -> None:
    reading = consumer(logs)
    assert reading.assignment() == {ORDERS, OTHER}
    assert reading.beginning_offsets([ORDERS]) == {ORDERS: 0}
    assert reading.end_offsets([ORDERS, OTHER]) == {ORDERS: 10, OTHER: 0}
    assert reading.offsets_for_times({ORDERS: 1004, OTHER: 0}) == {ORDERS: 4, OTHER: None}
    reading.pause(ORDERS)
    assert (reading.poll(), reading.paused()) == ({}, {ORDERS})
    reading.resume()
    assert offsets(reading) == list(range(10))


def test_a_pause_in_a_loop_holds_at_once(logs: octavo.LogDir) -> None:
    send(logs, range(3), partition=1)
    reading = consumer(logs)
    seen = []
    for record in reading:
        seen.append((record.partition, record.offset))
        if seen[-1] == (0, 2):
            reading.pause(ORDERS)
    assert [offset for partition, offset in seen if partition == 0] == [0, 1, 2]
    assert [offset for partition, offset in seen if partition == 1] == [0, 1, 2]
    reading.resume()
    assert offsets(reading) == list(range(3, 10))


def test_no_group_has_committed_next_to_a_copied_folder(tmp_path: Path) -> None:
    write_segment(tmp_path / "copied", 0, batch(0))
    reading = octavo.scan(tmp_path / "copied").consumer("readers")
    assert [record.offset for record in reading] == [0]


def test_it_waits_for_records(logs: octavo.LogDir) -> None:
    reading = consumer(logs)
    assert len(offsets(reading)) == 10
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            send(logs, range(10, 12))

    reading._sleep = sleep
    assert [record.offset for record in reading.poll(timeout_ms=-1)[ORDERS]] == [10, 11]
    assert len(slept) == 3


def test_a_group_begins_where_it_has_committed_and_is_not_moved(logs: octavo.LogDir) -> None:
    with logs.consumer(group="readers", enable_auto_commit=False) as owner:
        owner.assign([ORDERS])
        owner.commit({ORDERS: 6})
    reading = consumer(logs, group="readers")
    assert (reading.committed(ORDERS), reading.committed(OTHER)) == (6, None)
    assert offsets(reading) == [6, 7, 8, 9]
    with pytest.raises(IllegalStateError, match="only reads; to commit a group's offsets, open the directory with"):
        reading.commit()
    reading.close()
    assert offsets(consumer(logs, group="readers")) == [6, 7, 8, 9]
    assert offsets(consumer(logs, group="others")) == list(range(10))


def test_it_begins_where_the_options_say(logs: octavo.LogDir) -> None:
    latest = consumer(logs, auto_offset_reset="latest")
    assert offsets(latest) == []
    send(logs, range(10, 11))
    assert offsets(latest) == [10]
    assert offsets(consumer(logs, from_offset=8)) == [8, 9, 10]
    with pytest.raises(ScanError, match="unknown auto_offset_reset 'first'; give earliest, latest or none"):
        consumer(logs, auto_offset_reset="first")


def test_what_was_deleted_before_it_was_read_is_reported(logs: octavo.LogDir) -> None:
    scan = octavo.scan(root(logs), topics=["orders"])
    reading, strict = scan.consumer(), consumer(logs, auto_offset_reset="none")
    for several in (reading, strict):
        assert len(several.poll(max_records=2)[ORDERS]) == 2
    logs.log("orders", 0).delete_records(5)
    logs.checkpoint()
    for several in (reading, strict):
        several.seek(ORDERS, 2)
    assert offsets(reading) == [5, 6, 7, 8, 9]
    (note,) = scan.notes
    assert note.sentence == "offset 2 is out of range: the log starts at 5 and ends before 10; reading from 5 on"
    with pytest.raises(OffsetOutOfRangeError):
        strict.poll()


def test_only_committed_records_are_read_if_asked_for(logs: octavo.LogDir) -> None:
    reading = consumer(logs, isolation_level="read_committed")
    assert len(offsets(reading)) == 10
    with logs.producer(transactional_id="x") as producer:
        producer.begin_transaction()
        producer.send("orders", b"a", partition=0).result()
        assert offsets(reading) == []
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send("orders", b"b", partition=0).result()
        producer.commit_transaction()
    assert [record.value for record in reading] == [b"b"]
    assert reading.position(ORDERS) == 14  # after the marker


def test_damage_is_raised_until_a_seek_goes_past_it(tmp_path: Path) -> None:
    write_segment(tmp_path / "orders-0", 0, batch(0), batch(1)[:-1] + b"x", batch(2))
    reading = octavo.scan(tmp_path).consumer()
    for _ in range(2):
        with pytest.raises(CorruptRecordError, match="CRC"):
            reading.poll()
    reading.seek(ORDERS, 2)
    assert offsets(reading) == [2]
    assert offsets(octavo.scan(tmp_path, on_damage="skip").consumer()) == [0, 2]


def test_a_closed_consumer_says_so(logs: octavo.LogDir) -> None:
    with consumer(logs) as reading:
        pass
    assert reading.is_closed
    for call in (reading.poll, lambda: reading.position(ORDERS)):
        with pytest.raises(IllegalStateError, match="the consumer is closed"):
            call()


def test_a_partition_that_is_compacted_meanwhile_is_read_on(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    write_segment(folder, 0, *(batch(number) for number in range(10)))
    reading = octavo.scan(tmp_path).consumer(max_poll_records=2)
    assert [record.offset for record in reading.poll()[ORDERS]] == [0, 1]
    for kind in FileKind:
        path(folder, 0, kind).unlink(missing_ok=True)
    write_segment(folder, 0, batch(1), batch(6), batch(9))
    reading.seek(ORDERS, 2)
    assert offsets(reading) == [6, 9]
