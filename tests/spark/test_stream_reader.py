"""The stream reader, called as Spark calls it: offsets, admission, new and lost partitions, restarts."""

from __future__ import annotations

import pickle
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from octavo.scanner.partition.snapshot import PartitionSnapshot, look_at
from octavo.scanner.places.files import PartitionFiles
from tests.spark.orders import TEN, write_orders

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows, ReadMinRows

from octavo.errors import ConfigError, DataLossError, UnknownTopicOrPartitionError
from octavo.format.names import TopicPartition
from octavo.format.small_files.checkpoint import encode_offsets
from octavo.spark.query.source_options import SourceOptions
from octavo.spark.query.stream_options import StreamOptions
from octavo.spark.source import log_view
from octavo.spark.source.stream_reader import StreamReader, stream_reader
from octavo.system.clock import ManualClock
from tests.scanner.segments import write_segment

SIZE = len(TEN[0])
ALL = ReadAllAvailable()


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return write_orders(tmp_path / "logs")


def reader(logs: Path, **options: Any) -> StreamReader:
    given = {"path": str(logs), "subscribe": "orders", "startingOffsets": "earliest", **options}
    given = {name: str(text) for name, text in given.items() if text is not None}
    return stream_reader(given, SourceOptions.of(given).schema())


def offsets_read(stream: StreamReader, start: dict[str, Any], end: dict[str, Any]) -> dict[int, list[int]]:
    """The offsets that a micro-batch reads, by partition; each task has a pickled copy of the stream, as in Spark."""
    found: dict[int, list[int]] = {}
    for planned in stream.partitions(start, end):
        task_side = pickle.loads(pickle.dumps(stream))
        for rows in task_side.read(pickle.loads(pickle.dumps(planned))):
            for partition, offset in zip(rows["partition"].to_pylist(), rows["offset"].to_pylist(), strict=True):
                found.setdefault(partition, []).append(offset)
    return found


def test_a_stream_goes_from_its_start_to_what_is_there(logs: Path) -> None:
    stream = reader(logs)
    start = stream.initialOffset()
    assert start == {"orders": {"0": 0, "1": 0}}
    assert stream.getDefaultReadLimit() == ALL
    end = stream.latestOffset(start, ALL)
    assert end == stream.reportLatestOffset() == {"orders": {"0": 80, "1": 10}}
    assert offsets_read(stream, start, end) == {0: list(range(80)), 1: list(range(10))}
    assert stream.latestOffset(end, ALL) == end
    assert stream.partitions(end, end) == []
    write_segment(logs / "orders-0", 50, *TEN[5:], closed=False)
    later = stream.latestOffset(end, ALL)
    assert later == {"orders": {"0": 100, "1": 10}}
    assert offsets_read(stream, end, later) == {0: list(range(80, 100))}


def test_latest_is_where_a_stream_starts_by_default(logs: Path) -> None:
    assert reader(logs, startingOffsets=None).initialOffset() == {"orders": {"0": 80, "1": 10}}


def test_a_start_by_offset_or_time_must_give_every_partition_an_offset(logs: Path) -> None:
    stream = reader(logs, startingOffsets='{"orders":{"0":-1,"1":-2}}')
    assert stream.initialOffset() == {"orders": {"0": 80, "1": 0}}
    assert reader(logs, startingTimestamp=0).initialOffset() == {"orders": {"0": 0, "1": 0}}
    with pytest.raises(ConfigError, match="Partitions specified for Kafka start offsets don't match what are"):
        reader(logs, startingOffsets='{"orders":{"0":5}}').initialOffset()
    with pytest.raises(
        ConfigError, match="No offset matched from request of topic-partition orders-1 and timestamp 2003"
    ):
        reader(logs, startingTimestamp=2003).initialOffset()
    late = reader(logs, startingTimestamp=2003, startingOffsetsByTimestampStrategy="latest")
    assert late.initialOffset() == {"orders": {"0": 23, "1": 10}}


def test_a_topic_that_is_not_there_is_refused_at_the_start(logs: Path) -> None:
    with pytest.raises(UnknownTopicOrPartitionError, match=r"there is no topic 'order' \(did you mean orders"):
        reader(logs, subscribe="order").initialOffset()


def test_micro_batches_limited_by_offsets_or_bytes_read_everything(logs: Path) -> None:
    for limits, first in (({"maxOffsetsPerTrigger": 9}, ReadMaxRows(9)), ({"maxBytesPerTrigger": 1}, ReadMaxBytes(1))):
        stream = reader(logs, **limits)
        limit, start, batches = stream.getDefaultReadLimit(), stream.initialOffset(), 0
        assert limit == first
        found: dict[int, list[int]] = {0: [], 1: []}
        while (end := stream.latestOffset(start, limit)) != start:
            for partition, offsets in offsets_read(stream, start, end).items():
                found[partition] += offsets
            start, batches = end, batches + 1
        assert found == {0: list(range(80)), 1: list(range(10))}
        assert batches > 3
        assert stream.latestOffset(stream.initialOffset(), ALL) == {"orders": {"0": 80, "1": 10}}


def test_bytes_limit_a_micro_batch_roughly(logs: Path) -> None:
    stream = reader(logs, maxBytesPerTrigger=3 * SIZE, subscribe=None, assign='{"orders":[0]}')
    end = stream.latestOffset(stream.initialOffset(), stream.getDefaultReadLimit())
    assert 20 <= end["orders"]["0"] <= 40


def test_a_micro_batch_waits_until_there_are_enough_offsets(logs: Path) -> None:
    options = {"path": str(logs), "subscribe": "orders", "startingOffsets": "earliest", "minOffsetsPerTrigger": "15"}
    clock = ManualClock(1_000_000)
    options["maxTriggerDelay"] = "10s"
    stream = StreamReader(SourceOptions.of(options), StreamOptions.of(options), clock)
    assert stream.getDefaultReadLimit() == ReadMinRows(15)
    end = stream.latestOffset(stream.initialOffset(), ReadMinRows(15))
    assert end == {"orders": {"0": 80, "1": 10}}, "the first does not wait"
    write_segment(logs / "orders-0", 50, *TEN[5:9], closed=False)
    assert stream.latestOffset(end, ReadMinRows(15)) == end
    write_segment(logs / "orders-0", 50, *TEN[5:], closed=False)
    more = stream.latestOffset(end, ReadMinRows(15))
    assert more == {"orders": {"0": 100, "1": 10}}
    write_segment(logs / "orders-1", 0, *TEN[:2])
    assert stream.latestOffset(more, ReadMinRows(15)) == more
    clock.advance(10_000)
    assert stream.latestOffset(more, ReadMinRows(15)) == {"orders": {"0": 100, "1": 20}}


def batches_of(stream: StreamReader) -> Iterator[tuple[dict[str, int], dict[int, list[int]]]]:
    """The end and the rows of each micro-batch of a query with Trigger.AvailableNow, in the order of Spark's calls."""
    start, limit = stream.initialOffset(), stream.getDefaultReadLimit()
    while (end := stream.latestOffset(start, limit)) != start:
        yield end["orders"], offsets_read(stream, start, end)
        start = end


def test_available_now_ends_where_its_first_micro_batch_found_the_ends(logs: Path) -> None:
    stream = reader(logs, maxOffsetsPerTrigger=50, minOffsetsPerTrigger=40)
    stream.prepareForTriggerAvailableNow()
    batches = batches_of(stream)
    assert next(batches) == ({"0": 44, "1": 5}, {0: list(range(44)), 1: list(range(5))})
    write_segment(logs / "orders-0", 50, *TEN[5:], closed=False)
    write_segment(logs / "orders-2", 0, *TEN[:1])
    assert list(batches) == [({"0": 80, "1": 10}, {0: list(range(44, 80)), 1: list(range(5, 10))})]


def test_available_now_does_not_mistake_an_append_before_its_start_for_a_loss(logs: Path) -> None:
    stream = reader(logs, startingOffsets="latest")
    stream.prepareForTriggerAvailableNow()
    write_segment(logs / "orders-0", 50, *TEN[5:9], closed=False)
    write_segment(logs / "orders-2", 0, *TEN[:1])
    start = stream.initialOffset()
    assert start == {"orders": {"0": 90, "1": 10, "2": 10}}
    assert stream.partitions(start, stream.latestOffset(start, ALL)) == []
    write_segment(logs / "orders-0", 50, *TEN[5:], closed=False)
    assert stream.latestOffset(start, ALL) == start, "the ends were fixed by the first request"


def test_available_now_reads_what_comes_between_its_start_and_its_first_micro_batch(logs: Path) -> None:
    stream = reader(logs, startingOffsets="latest")
    stream.prepareForTriggerAvailableNow()
    start = stream.initialOffset()
    write_segment(logs / "orders-0", 50, *TEN[5:9], closed=False)
    write_segment(logs / "orders-2", 0, *TEN[:1])
    end = stream.latestOffset(start, ALL)
    assert offsets_read(stream, start, end) == {0: list(range(80, 90)), 2: list(range(10))}


def test_new_partitions_and_topics_are_read_from_their_first_offset(logs: Path) -> None:
    stream = reader(logs, subscribe=None, subscribePattern="^ord")
    start = stream.initialOffset()
    write_segment(logs / "orders-2", 0, *TEN[:1])
    write_segment(logs / "ordinary-0", 0, *TEN[:1])
    write_segment(logs / "other-0", 0, *TEN[:1])
    end = stream.latestOffset(start, ALL)
    assert end == {"orders": {"0": 80, "1": 10, "2": 10}, "ordinary": {"0": 10}}
    assert offsets_read(stream, {"orders": {"0": 80, "1": 10}}, end) == {0: list(range(10)), 2: list(range(10))}


def test_a_new_partition_whose_first_offsets_are_gone_is_a_loss(logs: Path) -> None:
    stream = reader(logs)
    start = stream.initialOffset()
    write_segment(logs / "orders-2", 10, TEN[1])
    with pytest.raises(DataLossError, match="Added partition orders-2 starts from 10 instead of 0"):
        stream.partitions(start, stream.latestOffset(start, ALL))


def test_deleted_partitions_are_a_loss_or_skipped(logs: Path) -> None:
    for lenient in (False, True):
        write_segment(logs / "orders-1", 0, *TEN[:1])
        stream = reader(logs, failOnDataLoss="false" if lenient else "true")
        start = stream.initialOffset()
        (logs / "orders-1").rename(logs / f"orders-1.0123456789abcdef0123456789abcde{lenient:d}-delete")
        end = stream.latestOffset(start, ALL)
        assert end == {"orders": {"0": 80}}
        if lenient:
            assert offsets_read(stream, start, end) == {0: list(range(80))}
        else:
            with pytest.raises(DataLossError, match="Partitions orders-1 have been deleted"):
                stream.partitions(start, end)


def test_offsets_that_were_deleted_are_a_loss_or_skipped(logs: Path) -> None:
    (logs / "log-start-offset-checkpoint").write_bytes(encode_offsets({TopicPartition("orders", 0): 25}))
    start = {"orders": {"0": 5, "1": 10}}
    strict = reader(logs)
    with pytest.raises(
        DataLossError, match=re.escape("records in offset [5, 80) for topic partition orders-0, which has [25, 80)")
    ):
        strict.partitions(start, strict.latestOffset(start, ALL))
    lenient = reader(logs, failOnDataLoss="false")
    assert offsets_read(lenient, start, lenient.latestOffset(start, ALL)) == {0: list(range(25, 80))}


def test_a_log_that_ends_before_the_checkpoint_is_a_loss_or_continued_from_its_end(logs: Path) -> None:
    start = {"orders": {"0": 500, "1": 10}}
    strict = reader(logs)
    with pytest.raises(DataLossError, match="Partition orders-0 offset was changed from 500 to 80"):
        strict.partitions(start, strict.latestOffset(start, ALL))
    lenient = reader(logs, failOnDataLoss="false")
    end = lenient.latestOffset(start, ALL)
    assert offsets_read(lenient, start, end) == {}
    write_segment(logs / "orders-0", 50, *TEN[5:], closed=False)
    assert offsets_read(lenient, end, lenient.latestOffset(end, ALL)) == {0: list(range(80, 100))}


def test_gaps_of_compaction_are_not_a_loss(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    write_segment(root / "orders-0", 0, TEN[1], TEN[4])  # what was before and between them is gone
    write_segment(root / "orders-0", 70, TEN[8], closed=False)
    stream = reader(root)
    start = stream.initialOffset()
    end = stream.latestOffset(start, ALL)
    assert end == {"orders": {"0": 90}}
    kept = [*range(10, 20), *range(40, 50), *range(80, 90)]
    assert offsets_read(stream, start, end) == {0: kept}
    assert offsets_read(stream, {"orders": {"0": 25}}, end) == {0: kept[10:]}


def test_files_that_go_away_between_planning_and_reading_are_a_loss_or_skipped(logs: Path) -> None:
    for lenient in (False, True):
        stream = reader(logs, failOnDataLoss="false" if lenient else "true")
        start = {"orders": {"0": 0, "1": 10}}
        planned = stream.partitions(start, stream.latestOffset(start, ALL))
        hidden = logs.parent / "hidden"
        shutil.move(logs / "orders-0", hidden)
        if lenient:
            assert list(stream.read(planned[0])) == []
        else:
            with pytest.raises(DataLossError, match="deleted or renamed while it was read"):
                list(stream.read(planned[0]))
        shutil.move(hidden, logs / "orders-0")


def test_a_half_written_batch_waits_for_its_other_half(logs: Path) -> None:
    stream = reader(logs)
    for half in (1, 30, SIZE - 1):
        write_segment(logs / "orders-0", 50, *TEN[5:8], closed=False, tail=TEN[8][:half])
        assert stream.latestOffset(stream.initialOffset(), ALL) == {"orders": {"0": 80, "1": 10}}
    write_segment(logs / "orders-0", 50, *TEN[5:9], closed=False)
    assert stream.latestOffset(stream.initialOffset(), ALL) == {"orders": {"0": 90, "1": 10}}


def test_a_restart_plans_the_checkpoints_batch_before_anything_else(logs: Path) -> None:
    assert offsets_read(reader(logs), {"orders": {"0": 70, "1": 0}}, {"orders": {"0": 75, "1": 0}}) == {
        0: list(range(70, 75))
    }


def test_a_stream_can_stay_below_the_high_watermark(logs: Path) -> None:
    checkpoint = logs / "replication-offset-checkpoint"
    checkpoint.write_bytes(encode_offsets({TopicPartition("orders", 0): 60}))
    stream = reader(logs, endingOffsets="highWatermark")
    start = stream.initialOffset()
    end = stream.latestOffset(start, ALL)
    assert end == {"orders": {"0": 60, "1": 0}}
    assert offsets_read(stream, start, end) == {0: list(range(60))}
    checkpoint.write_bytes(encode_offsets({TopicPartition("orders", 0): 80, TopicPartition("orders", 1): 3}))
    assert stream.latestOffset(end, ALL) == {"orders": {"0": 80, "1": 3}}


@pytest.mark.parametrize(
    "start",
    [
        {"startingOffsets": "latest"},
        {"startingOffsets": '{"orders":{"0":-1,"1":-1}}'},
        {"startingOffsets": None, "startingTimestamp": 99_999, "startingOffsetsByTimestampStrategy": "latest"},
    ],
)
def test_below_the_high_watermark_latest_is_what_is_committed(logs: Path, start: dict[str, Any]) -> None:
    checkpoint = logs / "replication-offset-checkpoint"
    checkpoint.write_bytes(encode_offsets({TopicPartition("orders", 0): 30}))
    stream = reader(logs, endingOffsets="highWatermark", **start)
    first = stream.initialOffset()
    assert first == stream.latestOffset(first, ALL) == {"orders": {"0": 30, "1": 0}}
    checkpoint.write_bytes(encode_offsets({TopicPartition("orders", 0): 80, TopicPartition("orders", 1): 3}))
    assert offsets_read(stream, first, stream.latestOffset(first, ALL)) == {0: list(range(30, 80)), 1: [0, 1, 2]}


@pytest.mark.parametrize("limit", [{}, {"maxOffsetsPerTrigger": 20}, {"maxBytesPerTrigger": 2 * SIZE}])
def test_a_high_watermark_that_goes_back_takes_nothing_back(logs: Path, limit: dict[str, Any]) -> None:
    checkpoint = logs / "replication-offset-checkpoint"
    stream = reader(logs, endingOffsets="highWatermark", **limit)
    known = {"orders": {"0": 60, "1": 10}}
    for high_watermarks in ({TopicPartition("orders", 0): 30}, {}):
        checkpoint.write_bytes(encode_offsets(high_watermarks))
        assert stream.latestOffset(known, stream.getDefaultReadLimit()) == known
    checkpoint.write_bytes(encode_offsets({TopicPartition("orders", 0): 70, TopicPartition("orders", 1): 10}))
    end = stream.latestOffset(known, stream.getDefaultReadLimit())
    assert offsets_read(stream, known, end) == {0: list(range(60, 70))}


def test_a_log_that_was_cut_is_a_loss_below_the_high_watermark_too(logs: Path) -> None:
    (logs / "replication-offset-checkpoint").write_bytes(encode_offsets({TopicPartition("orders", 0): 30}))
    stream = reader(logs, endingOffsets="highWatermark")
    known = {"orders": {"0": 95, "1": 0}}
    with pytest.raises(DataLossError, match="Partition orders-0 offset was changed from 95 to 80"):
        stream.partitions(known, stream.latestOffset(known, ALL))


def test_partitions_that_did_not_change_are_not_read_again(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = reader(logs)
    looked: list[str] = []

    def noted(files: PartitionFiles, *, is_committed: bool) -> PartitionSnapshot:
        looked.append(files.location.name)
        return look_at(files, is_committed=is_committed)

    monkeypatch.setattr(log_view, "look_at", noted)
    for _ in range(3):
        stream.initialOffset()
    assert sorted(looked) == ["orders-0", "orders-1"]
    write_segment(logs / "orders-1", 0, *TEN[:2])
    stream.initialOffset()
    assert looked[2:] == ["orders-1"]
