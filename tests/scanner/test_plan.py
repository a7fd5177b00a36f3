"""Plans: what is read, pruned and divided; and the arguments that say what to read."""

from __future__ import annotations

import pickle
import re
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import octavo
from octavo.errors import ScanError
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.names import FileKind
from octavo.format.record import Record
from octavo.scanner.lookup.bounds import to_milliseconds
from octavo.scanner.reading.plan import ReadTask, grouped
from tests.scanner.refusals import unlisted
from tests.scanner.segments import path, write_segment
from tests.storage.batches import batch

TEN = [batch(10 * number, 10, timestamp=1000 * number) for number in range(10)]
SIZE = len(TEN[0])


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Four partitions; orders-0 has two segments of five batches each, offsets 0 to 49 and 50 to 99."""
    root = tmp_path / "logs"
    write_segment(root / "orders-0", 0, *TEN[:5])
    write_segment(root / "orders-0", 50, *TEN[5:], closed=False)
    write_segment(root / "orders-1", 0, *TEN[:1])
    write_segment(root / "payments.v2-0", 0, *TEN[:2])
    write_segment(root / "__consumer_offsets-0", 0, *TEN[:1])
    return root


def ranges(tasks: list[ReadTask]) -> list[list[tuple[str, int, int]]]:
    """Each task's files and batches."""
    return [[(part.name[-7:-4], part.start // SIZE, part.end // SIZE) for part in task.ranges] for task in tasks]


def bounds(tasks: list[ReadTask]) -> list[tuple[int, int]]:
    return [(task.start_offset, task.end_offset) for task in tasks]


def test_small_segments_are_read_by_one_task(logs: Path) -> None:
    tasks = octavo.scan(logs, "orders").plan()
    assert ranges(tasks) == [[("000", 0, 5), ("050", 0, 5)], [("000", 0, 1)]]
    assert bounds(tasks) == [(0, 100), (0, 10)]
    assert [(task.topic, task.partition) for task in tasks] == [("orders", 0), ("orders", 1)]
    assert tasks[0].size == 10 * SIZE


def test_tasks_are_cut_at_batches_by_bytes(logs: Path) -> None:
    tasks = octavo.scan(logs, "orders", 0, split_bytes=2 * SIZE).plan()
    assert ranges(tasks) == [
        [("000", 0, 2)], [("000", 2, 4)], [("000", 4, 5)], [("050", 0, 2)], [("050", 2, 4)], [("050", 4, 5)],
    ]  # fmt: skip
    assert bounds(tasks) == [(0, 20), (20, 40), (40, 50), (50, 70), (70, 90), (90, 100)]


@pytest.mark.parametrize("split_bytes", [1, SIZE, 3 * SIZE, 5 * SIZE, 7 * SIZE, 100 * SIZE])
def test_tasks_leave_nothing_out_and_read_nothing_twice(logs: Path, split_bytes: int) -> None:
    tasks = octavo.scan(logs, "orders", 0, from_offset=7, to_offset=93, split_bytes=split_bytes).plan()
    assert (tasks[0].start_offset, tasks[-1].end_offset) == (7, 93)
    assert all(before.end_offset == after.start_offset for before, after in pairwise(tasks))
    assert sum(task.size for task in tasks) == 10 * SIZE


def test_offsets_prune_segments_and_batches(logs: Path) -> None:
    assert ranges(octavo.scan(logs, "orders", 0, from_offset=50).plan()) == [[("050", 0, 5)]]
    assert ranges(octavo.scan(logs, "orders", 0, from_offset=35, to_offset=36).plan()) == [[("000", 2, 4)]]
    assert ranges(octavo.scan(logs, "orders", 0, from_offset=95).plan()) == [[("050", 3, 5)]]
    assert ranges(octavo.scan(logs, "orders", 0, to_offset=10).plan()) == [[("000", 0, 2)]]
    assert octavo.scan(logs, "orders", 0, from_offset=100).plan() == []
    assert octavo.scan(logs, "orders", 0, from_offset=40, to_offset=40).plan() == []


def test_times_prune_segments_and_batches(logs: Path) -> None:
    scan = octavo.scan(logs, "orders", 0, from_timestamp=6003, to_timestamp=7000)
    assert bounds(scan.plan()) == [(63, 70)]
    assert [record.timestamp for record in scan] == list(range(6003, 6010))
    assert octavo.scan(logs, "orders", 0, from_timestamp=99_999).plan() == []
    assert bounds(octavo.scan(logs, "orders", 0, to_timestamp=99_999).plan()) == [(0, 100)]


def test_a_closed_segment_of_older_records_is_not_opened(logs: Path) -> None:
    path(logs / "orders-0", 0, FileKind.LOG).write_bytes(bytes(5 * SIZE))
    assert bounds(octavo.scan(logs, "orders", 0, from_timestamp=5000).plan()) == [(50, 100)]


def test_tasks_travel_to_other_processes(logs: Path) -> None:
    tasks = octavo.scan(logs, "orders", isolation_level="read_committed", columns=["key"]).plan()
    assert pickle.loads(pickle.dumps(tasks)) == tasks


def test_compressed_sets_of_old_formats_are_cut_by_their_first_offset(tmp_path: Path) -> None:
    sets = [
        encode_message_set([Record(10 * n + i, 1000 * n + i, b"k", bytes(50)) for i in range(10)], 1, codec=Codec.GZIP)
        for n in range(10)
    ]
    folder = tmp_path / "old-0"
    write_segment(folder, 0, *sets, interval_bytes=1)
    for split_bytes in (1, 150, 10_000):
        scan = octavo.scan(folder, from_offset=15, to_offset=85, split_bytes=split_bytes)
        assert [record.offset for record in scan] == list(range(15, 85))
        assert [record.timestamp for record in octavo.scan(folder, from_timestamp=4005, to_timestamp=5002)] == [
            *range(4005, 4010), *range(5000, 5002)
        ]  # fmt: skip
    assert len(octavo.scan(folder, split_bytes=1).plan()) == 10


def test_topics_are_chosen_by_name_by_pattern_or_all(logs: Path) -> None:
    def topics(**options: Any) -> set[str]:
        return {task.topic for task in octavo.scan(logs, **options).plan()}

    assert topics() == {"orders", "payments.v2"}
    assert topics(topics="payments.v2") == {"payments.v2"}
    assert topics(topics=re.compile("o.*|pay")) == {"orders"}
    assert topics(topics=["orders", "__consumer_offsets"]) == {"orders", "__consumer_offsets"}
    assert topics(partitions=1) == {"orders"}
    assert topics(topics=re.compile("no")) == set()


def test_a_partitions_folder_names_its_topic(logs: Path) -> None:
    assert len(octavo.scan(logs / "__consumer_offsets-0").plan()) == 1
    with pytest.raises(octavo.ScanError, match="no topic has a partition 1"):
        octavo.scan(logs / "__consumer_offsets-0", partitions=1)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"topics": "order"}, r"there is no topic 'order' \(did you mean orders"),
        ({"topics": "zzz"}, "there is no topic 'zzz'; the topics are orders, payments.v2, __consumer_offsets"),
        ({"topics": "orders", "partitions": [0, 7]}, "there is no partition 7 of topic 'orders'"),
        ({"columns": ["key", "vlaue"]}, "unknown column 'vlaue'; give some of topic, partition, offset"),
        ({"columns": []}, "no column; give some of"),
        (
            {"isolation_level": "committed"},
            "unknown isolation level 'committed'; give read_uncommitted or read_committed",
        ),
        ({"on_damage": "ignore"}, "unknown on_damage 'ignore'; give raise or skip"),
        ({"from_offset": -5}, "offset -5 is below 0"),
        ({"from_offset": "first"}, "unknown offset 'first'; give a number, earliest, latest or highWatermark"),
        ({"to_offset": "highWatermark"}, "replication-offset-checkpoint does not name this partition"),
        ({"from_timestamp": "yesterday"}, "timestamp 'yesterday', expected milliseconds or ISO 8601"),
        ({"from_offset": {"orders": 5}}, r"from_offset: 'orders' is not a partition; .* such as {\('orders', 0\): 5}"),
        ({"to_offset": {"orders-1": 5}}, r"to_offset: 'orders-1' is not a partition; .* such as {\('orders', 1\): 5}"),
        ({"from_offset": {"orders": {0: 5}}}, "'orders' is not a partition; give pairs of topic and number"),
        ({"from_offset": {("orders", "0"): 5}}, r"\('orders', '0'\) is not a partition"),
        ({"from_offset": {0: 5}}, r"from_offset: 0 is not a partition; .* such as {\('orders', 0\): 5}"),
        ({"from_offset": {("order", 0): 5}}, r"from_offset: there is no topic 'order' \(did you mean orders"),
        ({"to_offset": {("orders", 7): 5}}, "to_offset: there is no partition 7 of topic 'orders'; it has 0 to 1"),
        (
            {"topics": "orders", "from_offset": {("payments.v2", 0): 5}},
            "from_offset names payments.v2-0, which topics leaves out",
        ),
        ({"from_offset": {("__consumer_offsets", 0): 5}}, "names __consumer_offsets-0, which topics leaves out"),
        ({"partitions": 1, "to_offset": {("orders", 0): 5}}, "to_offset names orders-0, which partitions leaves out"),
        ({"partitions": "0"}, r"partitions is '0', expected a number or several, such as 0 or \[0, 1\]"),
        ({"partitions": ["0"]}, r"partitions is \['0'\], expected a number"),
        ({"partitions": 1.5}, "partitions is 1.5, expected a number"),
        ({"topics": 5}, "topics is 5, expected one or several names, or a compiled pattern"),
        ({"topics": [b"orders"]}, r"topics is \[b'orders'\], expected one or several names"),
        ({"key": 5}, "key is 5, expected bytes, or text for its UTF-8 bytes"),
        ({"grep": 5}, "grep is 5, expected a regular expression as text"),
        ({"columns": 5}, "columns is 5, expected some of topic, partition"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(logs: Path, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ScanError, match=problem):
        octavo.scan(logs, **options).plan()


@pytest.mark.parametrize("wrong", [-5, "first", {("orders", 0): -5}])
def test_a_wrong_offset_is_refused_at_once(logs: Path, wrong: Any) -> None:
    with pytest.raises(ScanError, match=r"give (0 or more|a number), earliest, latest or highWatermark"):
        octavo.scan(logs, to_offset=wrong)


def test_offsets_may_differ_by_partition(logs: Path) -> None:
    starts: dict[tuple[str, int], Any] = {("orders", 0): 95, ("orders", 1): "latest", ("payments.v2", 0): "earliest"}
    tasks = octavo.scan(logs, from_offset=starts, to_offset={("orders", 0): 97}).plan()
    assert [(task.topic, task.start_offset, task.end_offset) for task in tasks] == [
        ("orders", 95, 97), ("payments.v2", 0, 20),
    ]  # fmt: skip


def test_offsets_of_a_partition_whose_own_folder_is_read_or_that_cannot_be_listed(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = octavo.scan(logs / "__consumer_offsets-0", from_offset={("__consumer_offsets", 0): 5}).plan()
    assert [task.start_offset for task in tasks] == [5]
    unlisted(monkeypatch, "orders-1")
    tasks = octavo.scan(logs, "orders", from_offset={("orders", 1): 5}, on_damage="skip").plan()
    assert {task.partition for task in tasks} == {0}


def test_partitions_may_be_numbers_of_numpy(logs: Path) -> None:
    assert {task.partition for task in octavo.scan(logs, "orders", np.arange(1, 2)).plan()} == {1}
    starts: Any = {("orders", np.int64(1)): 5}
    assert bounds(octavo.scan(logs, "orders", 1, from_offset=starts).plan()) == [(5, 10)]


def test_an_offset_below_the_log_start_is_reported(logs: Path) -> None:
    (logs / "log-start-offset-checkpoint").write_text("0\n1\norders 0 25\n")
    scan = octavo.scan(logs, "orders", 0, from_offset=20)
    assert bounds(scan.plan()) == [(25, 100)]
    assert [note.sentence for note in scan.notes] == ["offset 20 is below the log start offset; reading from 25 on"]
    assert not octavo.scan(logs, "orders", 0).notes


def test_what_is_read_is_fixed_by_the_plan(logs: Path) -> None:
    scan = octavo.scan(logs, "orders", 1)
    assert scan.plan() == scan.plan()
    with path(logs / "orders-1", 0, FileKind.LOG).open("ab") as log:
        log.write(TEN[1])
    assert scan.to_table().num_rows == 10
    assert octavo.scan(logs, "orders", 1).to_table().num_rows == 20


@pytest.mark.parametrize(
    ("given", "milliseconds"),
    [
        (1_700_000_000_000, 1_700_000_000_000),
        ("1700000000000", 1_700_000_000_000),
        ("-1", -1),
        ("2023-11-14T22:13:20Z", 1_700_000_000_000),
        ("2023-11-14T22:13:20.123456", 1_700_000_000_123),
        ("2023-11-14 23:13:20+01:00", 1_700_000_000_000),
        ("2023-11-14", 1_699_920_000_000),
        (datetime(2023, 11, 14, 22, 13, 20), 1_700_000_000_000),
        (datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC), 1_700_000_000_000),
        (datetime(2023, 11, 15, 0, 13, 20, tzinfo=timezone(timedelta(hours=2))), 1_700_000_000_000),
    ],
)
def test_a_timestamp_has_many_forms(given: int | str | datetime, milliseconds: int) -> None:
    assert to_milliseconds(given) == milliseconds


@pytest.mark.parametrize("given", [1.5, None, b"0"])
def test_what_is_not_a_timestamp_is_refused(given: object) -> None:
    with pytest.raises(ScanError, match="expected milliseconds as an integer, ISO 8601 text, a date or a datetime"):
        to_milliseconds(given)  # type: ignore[arg-type]


def test_a_date_is_its_midnight() -> None:
    assert to_milliseconds(date(1970, 1, 2)) == 86_400_000


@pytest.mark.parametrize(
    ("sizes", "most_bytes", "fewest", "groups"),
    [
        ([3, 3, 3, 3], 6, 1, [[3, 3], [3, 3]]),
        ([0, 0, 7, 1], 6, 1, [[0, 0], [7], [1]]),
        ([97, 1, 1, 1], 33, 3, [[97], [1, 1], [1]]),
        ([1, 1, 1, 97], 25, 4, [[1], [1], [1], [97]]),
        ([1, 1], 1, 5, [[1], [1]]),
        ([], 5, 2, []),
    ],
)
def test_neighbours_share_a_group(sizes: list[int], most_bytes: int, fewest: int, groups: list[list[int]]) -> None:
    assert grouped(sizes, int, most_bytes, fewest) == groups
