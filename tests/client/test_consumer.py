"""Reading topics: positions, resets, seeks, isolation, loops, commits that are read back."""

from __future__ import annotations

import re
import threading

import pytest

from octavo.coordinator.groups.offsets import OffsetAndMetadata
from octavo.errors import (
    ConfigError,
    CorruptionError,
    CorruptRecordError,
    IllegalStateError,
    KafkaStorageError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    UnknownTopicOrPartitionError,
)
from octavo.format.batches.batch import Origin, build_batch
from octavo.format.batches.control import ControlType
from octavo.format.names import TopicPartition
from octavo.format.record import Record, TimestampType
from octavo.scanner.reading.records import ConsumerRecord
from tests.client.stores import Store
from tests.format.crafted import sealed
from tests.storage.open_logs import end_transaction
from tests.storage.worlds import NOW_MS

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def fill(store: Store, *values: bytes, topic: str = "t", partition: int = 0, first_ms: int = NOW_MS) -> None:
    """Append one batch per value."""
    with store.logs.producer() as producer:
        for number, value in enumerate(values):
            producer.send(topic, value, partition=partition, timestamp=first_ms + number)
            producer.flush()


def values(found: dict[TopicPartition, list[ConsumerRecord]]) -> dict[TopicPartition, list[bytes | None]]:
    return {name: [record.value for record in records] for name, records in found.items()}


def test_a_loop_reads_what_is_there_and_ends(store: Store) -> None:
    store.logs.create_topic("t", 2)
    fill(store, b"1", b"2")
    fill(store, b"3", partition=1)
    records = list(store.logs.consumer("t"))
    assert sorted(record.value or b"" for record in records) == [b"1", b"2", b"3"]
    assert {record.timestamp_type for record in records} == {TimestampType.CREATE_TIME}


def test_a_loop_can_wait(store: Store) -> None:
    store.logs.create_topic("t", 1)
    consumer = store.logs.consumer("t", consumer_timeout_ms=-1)
    thread = threading.Thread(target=fill, args=(store, b"1", b"2", b"3"))
    thread.start()
    assert [next(consumer).value for _ in range(3)] == [b"1", b"2", b"3"]
    thread.join()
    consumer.wakeup()
    with pytest.raises(StopIteration):
        next(consumer)


def test_poll_returns_at_most_max_poll_records(store: Store) -> None:
    store.logs.create_topic("t", 1)
    fill(store, b"1", b"2", b"3", b"4", b"5")
    consumer = store.logs.consumer("t", max_poll_records=2)
    assert values(consumer.poll()) == {T0: [b"1", b"2"]}
    assert values(consumer.poll(max_records=1)) == {T0: [b"3"]}
    assert consumer.position(T0) == 3
    assert values(consumer.poll()) == {T0: [b"4", b"5"]}
    assert consumer.poll(timeout_ms=1) == {}


def test_partitions_take_turns(store: Store) -> None:
    store.logs.create_topic("t", 3)
    for partition in range(3):
        fill(store, b"1", b"2", partition=partition)
    consumer = store.logs.consumer("t", max_poll_records=1)
    polled = [next(iter(consumer.poll())).partition for _ in range(6)]
    assert sorted(polled[:3]) == sorted(polled[3:]) == [0, 1, 2]


def test_a_fetch_inside_a_batch_begins_at_the_offset(store: Store) -> None:
    store.logs.create_topic("t", 1)
    with store.logs.producer() as producer:
        for number in range(10):
            producer.send("t", b"%d" % number)
    consumer = store.logs.consumer()
    consumer.assign([T0])
    consumer.seek(T0, 7)
    assert values(consumer.poll()) == {T0: [b"7", b"8", b"9"]}


@pytest.mark.parametrize(
    ("reset", "expected"),
    [
        ("earliest", [b"1", b"2", b"3"]),
        ("latest", []),
        ("by_duration:PT0S", [b"3"]),
        ("by_duration:PT0.001S", [b"2", b"3"]),
        ("by_duration:P1D", [b"1", b"2", b"3"]),
    ],
)
def test_where_a_consumer_begins(store: Store, reset: str, expected: list[bytes]) -> None:  # T4
    store.logs.create_topic("t", 1)
    fill(store, b"1", b"2", b"3", first_ms=NOW_MS - 2)
    consumer = store.logs.consumer("t", auto_offset_reset=reset)
    assert [record.value for record in consumer] == expected
    fill(store, b"4")
    assert [record.value for record in consumer] == [b"4"]


def test_by_duration_waits_for_a_record_that_is_young_enough(store: Store) -> None:
    store.logs.create_topic("t", 1)
    fill(store, b"1", first_ms=NOW_MS - 5000)
    consumer = store.logs.consumer("t", auto_offset_reset="by_duration:PT1S")
    assert consumer.poll() == {} and consumer.position(T0) is None
    fill(store, b"2")
    assert values(consumer.poll()) == {T0: [b"2"]}


def test_without_a_reset_a_missing_or_wrong_position_is_an_error(store: Store) -> None:
    store.logs.create_topic("t", 1)
    fill(store, b"1", b"2")
    consumer = store.logs.consumer("t", auto_offset_reset="none")
    with pytest.raises(NoOffsetForPartitionError, match=re.escape("t-0: no committed offset")):
        consumer.poll()
    consumer.seek(T0, 5)
    with pytest.raises(OffsetOutOfRangeError, match="offset 5 is out of range: the log starts at 0 and ends before 2"):
        consumer.poll()
    consumer.seek(T0, 1)
    assert values(consumer.poll()) == {T0: [b"2"]}


def test_a_position_beyond_the_log_is_reset(store: Store) -> None:
    store.logs.create_topic("t", 1)
    fill(store, b"1", b"2", b"3")
    consumer = store.logs.consumer("t")
    consumer.seek(T0, 99)
    assert values(consumer.poll()) == {T0: [b"1", b"2", b"3"]}
    consumer.seek(T0, 0)
    store.logs.log("t", 0).delete_records(2)
    assert values(consumer.poll()) == {T0: [b"3"]}


def test_seeks(store: Store) -> None:  # T4
    store.logs.create_topic("t", 1)
    fill(store, b"1", b"2", b"3")
    consumer = store.logs.consumer("t", max_poll_records=1)
    consumer.seek_to_timestamp(NOW_MS + 1)
    assert values(consumer.poll()) == {T0: [b"2"]}
    consumer.seek_to_beginning()
    assert values(consumer.poll()) == {T0: [b"1"]}
    consumer.seek_to_end(T0)
    assert consumer.poll() == {} and consumer.position(T0) == 3
    consumer.seek_to_timestamp(NOW_MS + 10)
    assert consumer.position(T0) == 3
    assert consumer.offsets_for_times({T0: NOW_MS + 2, ("t", 0): NOW_MS + 2}) == {T0: 2}
    assert consumer.offsets_for_times({T0: NOW_MS + 3}) == {T0: None}
    assert consumer.beginning_offsets([T0]) == {T0: 0} and consumer.end_offsets([T0]) == {T0: 3}


def test_a_seek_inside_a_loop(store: Store) -> None:
    store.logs.create_topic("t", 1)
    fill(store, b"1", b"2", b"3")
    consumer, read = store.logs.consumer("t"), []
    for record in consumer:
        read.append(record.value)
        if read == [b"1", b"2"]:
            consumer.seek_to_beginning()
    assert read == [b"1", b"2", b"1", b"2", b"3"]


def test_pause_and_resume(store: Store) -> None:
    store.logs.create_topic("t", 2)
    fill(store, b"1")
    fill(store, b"2", partition=1)
    consumer = store.logs.consumer("t")
    consumer.pause(T0)
    assert consumer.paused() == {T0} and values(consumer.poll()) == {T1: [b"2"]}
    consumer.resume()
    assert values(consumer.poll()) == {T0: [b"1"]}


def test_a_pause_inside_a_loop(store: Store) -> None:
    store.logs.create_topic("t", 1)
    fill(store, b"1", b"2", b"3")
    consumer, read = store.logs.consumer("t"), []
    for record in consumer:
        read.append(record.value)
        consumer.pause(T0)
    assert read == [b"1"]
    consumer.resume()
    assert [record.value for record in consumer] == [b"2", b"3"]


def test_what_a_loop_reads_can_be_changed_inside_it(store: Store) -> None:
    store.logs.create_topic("t", 2)
    fill(store, b"1", b"2", b"3")
    fill(store, b"4", partition=1)
    consumer, read = store.logs.consumer(), []
    consumer.assign([T0])
    for record in consumer:
        read.append(record.value)
        if record.partition == 0:
            consumer.assign([T1])
    assert read == [b"1", b"4"]
    consumer.assign([T0])
    with pytest.raises(IllegalStateError, match="reads nothing yet"):
        for record in consumer:
            read.append(record.value)
            consumer.unsubscribe()
    assert read[-1] == b"1"


@pytest.mark.parametrize("how", ["assigned", "subscribed", "in a group"])
def test_a_topic_that_is_deleted_and_created_again_is_read_from_its_start(store: Store, how: str) -> None:
    store.logs.create_topic("t", 1)
    fill(store, b"1", b"2")
    consumer = store.logs.consumer(group="g" if how == "in a group" else None)
    calls: list[set[TopicPartition]] = []
    if how == "assigned":
        consumer.assign([T0])
    else:
        consumer.subscribe(["t"], on_assigned=calls.append, on_revoked=calls.append)
    assert values(consumer.poll()) == {T0: [b"1", b"2"]}
    if how == "in a group":
        consumer.commit()
    store.logs.delete_topic("t")
    store.logs.create_topic("t", 1)
    fill(store, b"3", b"4")
    assert values(consumer.poll()) == {T0: [b"3", b"4"]}
    assert calls == ([] if how == "assigned" else [{T0}] * 3)
    consumer.close()
    if how == "in a group":
        with store.logs.consumer(group="g") as reader:
            assert reader.committed(T0) == OffsetAndMetadata(2)


def test_read_committed_skips_what_was_aborted(store: Store) -> None:  # T4
    store.logs.create_topic("t", 1)
    log = store.logs.log("t", 0)

    def write(producer_id: int, value: bytes) -> None:
        origin = Origin(producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True)
        log.append_as_leader(build_batch([Record(0, NOW_MS, None, value)], origin=origin), leader_epoch=0)

    write(1, b"aborted")
    write(2, b"committed")
    end_transaction(log, 1, ControlType.ABORT)
    end_transaction(log, 2, ControlType.COMMIT)
    write(3, b"open")
    fill(store, b"behind")
    committed = store.logs.consumer("t", isolation_level="read_committed")
    assert values(committed.poll()) == {T0: [b"committed"]}
    assert committed.position(T0) == 4 and committed.end_offsets([T0]) == {T0: 4}
    everything = store.logs.consumer("t")
    assert values(everything.poll()) == {T0: [b"aborted", b"committed", b"open", b"behind"]}
    end_transaction(log, 3, ControlType.COMMIT)
    assert values(committed.poll()) == {T0: [b"open", b"behind"]}


def test_a_damaged_batch_is_not_skipped(store: Store) -> None:
    store.logs.create_topic("t", 1)
    fill(store, b"first", b"second", b"third")
    damage(store, 0, b"second")
    consumer = store.logs.consumer("t")
    assert values(consumer.poll()) == {T0: [b"first"]}
    with pytest.raises(CorruptRecordError, match="the batch at offset 1 is damaged"):
        consumer.poll()
    consumer.seek(T0, 2)
    assert values(consumer.poll()) == {T0: [b"third"]}
    unchecked = store.logs.consumer("t", check_crcs=False)
    assert values(unchecked.poll())[T0][1] == b"recond"


def damage(store: Store, partition: int, at: bytes) -> None:
    """Flip a bit of the log where these bytes begin."""
    (path,) = (store.folder / f"t-{partition}").glob("*.log")
    content = bytearray(path.read_bytes())
    content[content.index(at)] ^= 1
    path.write_bytes(content)


def test_damage_in_one_partition_loses_no_records_of_another(store: Store) -> None:
    store.logs.create_topic("t", 2)
    fill(store, b"1", b"2")
    fill(store, b"damaged", partition=1)
    damage(store, 1, b"damaged")
    consumer = store.logs.consumer("t", group="g")
    assert values(consumer.poll()) == {T0: [b"1", b"2"]}
    for _ in range(3):
        with pytest.raises(CorruptRecordError, match="t-1: the batch at offset 0 is damaged"):
            consumer.poll()
    fill(store, b"3")
    consumer.seek(T1, 1)
    assert values(consumer.poll()) == {T0: [b"3"]}
    consumer.commit()
    assert consumer.committed(T0) == OffsetAndMetadata(3)


def test_the_poll_after_records_raises_what_ended_them(store: Store) -> None:
    store.logs.create_topic("t", 3)
    consumer = store.logs.consumer("t", auto_offset_reset="none")
    consumer.seek(T0, 0)
    consumer.seek(T1, 0)
    for number in range(3):
        fill(store, b"%d" % number)
        fill(store, b"%d" % number, partition=1)
        assert values(consumer.poll()) == {T0: [b"%d" % number], T1: [b"%d" % number]}
        with pytest.raises(NoOffsetForPartitionError, match="t-2"):
            consumer.poll()


def test_records_that_break_the_format_are_not_skipped(store: Store) -> None:
    """Their checksum is right, so the error comes with the decoding, in the middle of what was fetched."""
    store.logs.create_topic("t", 1)
    fill(store, b"first", b"second")
    (path,) = (store.folder / "t-0").glob("*.log")
    content = path.read_bytes()
    bad = bytearray(content[content.index(b"first") + len(b"first") + 1 :])
    bad[bad.index(b"second") - 1] = 0x7F  # the length of the value
    path.write_bytes(content[: -len(bad)] + sealed(bad))
    consumer = store.logs.consumer("t")
    assert values(consumer.poll()) == {T0: [b"first"]}
    for _ in range(2):
        with pytest.raises(CorruptionError):
            consumer.poll()
    assert consumer.position(T0) == 1


def test_a_loop_that_was_left_goes_on_with_the_next_record(store: Store) -> None:
    store.logs.create_topic("t", 1)
    with store.logs.producer() as producer:
        for number in range(10):
            producer.send("t", b"%d" % number)
    consumer = store.logs.consumer("t", max_poll_records=3)
    read = [next(iter(consumer)).value for _ in range(5)]
    read += [record.value for record in consumer]
    assert read == [b"%d" % number for number in range(10)]


def test_commits_are_read_back_after_a_restart(store: Store) -> None:  # L5
    store.logs.create_topic("t", 1)
    fill(store, b"1", b"2", b"3")
    assert "__consumer_offsets" not in store.logs.topics
    consumer = store.logs.consumer("t", group="g", max_poll_records=2, enable_auto_commit=False)
    consumer.poll()
    assert consumer.committed(T0) is None
    consumer.commit()
    assert len(store.logs.topics["__consumer_offsets"]) == 50
    assert store.logs.config("__consumer_offsets").cleanup_policy == ("compact",)
    assert consumer.committed(T0) == OffsetAndMetadata(2)
    consumer.commit({("t", 0): OffsetAndMetadata(1, "a note", 5)})
    logs = store.reopen()
    again = logs.consumer("t", group="g")
    assert again.committed(T0) == (1, "a note", 5)
    assert values(again.poll()) == {T0: [b"2", b"3"]}


def test_what_was_handed_out_is_committed_automatically(store: Store) -> None:
    store.logs.create_topic("t", 1)
    fill(store, b"1", b"2", b"3", b"4")
    with store.logs.consumer("t", group="g", max_poll_records=1) as consumer:
        consumer.poll()
        assert consumer.committed(T0) is None
        store.world.clock.advance(5000)
        consumer.poll()
        assert consumer.committed(T0) == (1, "", -1)
    watcher = store.logs.consumer(group="g")
    assert watcher.committed(T0) == (2, "", -1)
    with store.logs.consumer("t", group="g") as consumer:
        assert next(consumer).value == b"3"
    store.reopen()
    assert [record.value for record in store.logs.consumer("t", group="g")] == [b"4"]
    assert store.logs.consumer(group="g").committed(T0) == (4, "", -1)


def test_topics_may_come_later(store: Store) -> None:
    consumer = store.logs.consumer(["t", "u"])
    assert consumer.poll() == {} and consumer.assignment() == set()
    store.logs.create_topic("u", 1)
    fill(store, b"1", topic="u")
    assert values(consumer.poll()) == {("u", 0): [b"1"]}
    store.logs.create_partitions("u", 2)
    fill(store, b"2", topic="u", partition=1)
    assert values(consumer.poll()) == {("u", 1): [b"2"]}


def test_a_pattern_names_topics(store: Store) -> None:
    for topic in ("a1", "a2", "b1"):
        store.logs.create_topic(topic, 1)
        fill(store, topic.encode(), topic=topic)
    with store.logs.consumer("a1", group="g") as consumer:
        list(consumer)  # commits, and so creates Kafka's own topic
    consumer = store.logs.consumer()
    consumer.subscribe(pattern=".*1")
    assert sorted(record.value or b"" for record in consumer) == [b"a1", b"b1"]
    consumer.subscribe(pattern=".*")
    assert {name.topic for name in consumer.poll()} == {"a1", "a2", "b1"}


def test_what_is_refused(store: Store) -> None:
    store.logs.create_topic("t", 1)
    consumer = store.logs.consumer()
    with pytest.raises(IllegalStateError, match=re.escape("call subscribe() or assign() first")):
        consumer.poll()
    with pytest.raises(UnknownTopicOrPartitionError, match="t-7"):
        consumer.assign([("t", 7)])
    consumer.assign([T0])
    with pytest.raises(UnknownTopicOrPartitionError, match="t-1 is not assigned"):
        consumer.seek(T1, 0)
    with pytest.raises(IllegalStateError, match="cannot seek to offset -1: it is below 0"):
        consumer.seek(T0, -1)
    with pytest.raises(TypeError, match=re.escape("'t' is not a partition, expected a pair such as ('orders', 0)")):
        consumer.seek("t", 0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'to' is not a partition"):
        consumer.assign(["to"])  # type: ignore[list-item]
    for asked in (consumer.beginning_offsets, consumer.end_offsets):
        with pytest.raises(TypeError, match="'to' is not a partition"):
            asked(["to"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="'to' is not a partition"):
        consumer.offsets_for_times({"to": 0})  # type: ignore[dict-item]
    with pytest.raises(IllegalStateError, match=re.escape("the consumer has no group.id")):
        consumer.commit()
    with pytest.raises(IllegalStateError, match="nor look up committed ones: name a group when you create it"):
        consumer.committed(T0)
    consumer.close()
    with pytest.raises(IllegalStateError, match="the consumer is closed"):
        consumer.poll()


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        ({"auto.ofset.reset": "latest"}, "auto.ofset.reset is not a consumer config (did you mean auto.offset.reset?)"),
        ({"auto.offset.reset": "smallest"}, "expected earliest, latest, none or by_duration:<ISO-8601 duration>"),
        ({"auto.offset.reset": "by_duration:-PT1S"}, "expected earliest"),
        ({"auto.offset.reset": "by_duration:P"}, "expected earliest"),
        ({"isolation.level": "serializable"}, "expected one of read_uncommitted, read_committed"),
        ({"partition.assignment.strategy": "fair"}, "expected some of range, roundrobin, sticky"),
        ({"group.id": ""}, "group.id is empty: give a name, or no group.id"),
    ],
)
def test_configs_that_are_refused(store: Store, configs: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        store.logs.consumer(configs=configs)


def test_a_closed_consumer_commits_nothing_and_a_closed_log_dir_has_no_clients(store: Store) -> None:
    store.logs.create_topic("t", 1)
    fill(store, b"1", b"2")
    consumer = store.logs.consumer("t", group="g")
    consumer.poll()
    consumer.close()
    for use in (lambda: consumer.commit({T0: 1}), consumer.commit, lambda: consumer.subscribe("t"), consumer.poll):
        with pytest.raises(IllegalStateError, match="the consumer is closed"):
            use()
    with pytest.raises(TypeError, match="expected names; for configs use configs="):
        store.logs.consumer({"group.id": "g"})
    with store.logs.consumer(group="g") as reader:
        assert reader.committed(T0) == OffsetAndMetadata(2)
    store.logs.close()
    for create in (store.logs.producer, store.logs.consumer):
        with pytest.raises(KafkaStorageError, match=r"cannot create a .*: .* is closed"):
            create()
