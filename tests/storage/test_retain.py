"""Which segments retention drops, and why."""

from __future__ import annotations

from octavo.config import Given, LogConfig
from octavo.storage.log.retain import LogFacts, RetentionReason, SegmentFacts, Verdict, verdicts


def segments(*rows: tuple[int, int, int], end: int) -> list[SegmentFacts]:
    """Rows are base offset, size and largest timestamp."""
    bases = [row[0] for row in rows]
    return [
        SegmentFacts(base, following, size, timestamp, following == end)
        for (base, size, timestamp), following in zip(rows, [*bases[1:], end], strict=True)
    ]


def gone(found: list[Verdict]) -> dict[int, RetentionReason]:
    return {verdict.base_offset: verdict.reason for verdict in found if verdict.reason is not None}


def log(start: int = 0, high_watermark: int = 100, now_ms: int = 10_000) -> LogFacts:
    return LogFacts(start, high_watermark, now_ms)


THREE = segments((0, 400, 1000), (11, 400, 2000), (23, 300, 3000), end=40)
FOREVER = LogConfig.of({"retention.ms": -1})


# C6: logStartOffset 25, segments 0, 11, 23: the first two go
def test_segments_before_the_start_offset_go() -> None:
    by_start = RetentionReason.START_OFFSET
    assert gone(verdicts(THREE, log(start=25), FOREVER)) == {0: by_start, 11: by_start}
    assert gone(verdicts(THREE, log(start=22), FOREVER)) == {0: by_start}


# C5: from the first segment on, while the excess is at least its size
def test_the_oldest_segments_go_by_size() -> None:
    by_size = RetentionReason.SIZE
    assert gone(verdicts(THREE, log(), LogConfig.of({"retention.ms": -1, "retention.bytes": 701}))) == {}
    assert gone(verdicts(THREE, log(), LogConfig.of({"retention.ms": -1, "retention.bytes": 700}))) == {0: by_size}
    assert list(gone(verdicts(THREE, log(), LogConfig.of({"retention.ms": -1, "retention.bytes": 0})))) == [0, 11, 23]
    assert gone(verdicts(THREE, log(), LogConfig.of({"retention.ms": -1, "retention.bytes": -1}))) == {}


# C2: against the segment's largest timestamp
def test_the_oldest_segments_go_by_time() -> None:
    by_time = RetentionReason.TIME
    assert gone(verdicts(THREE, log(), LogConfig.of({"retention.ms": 9000}))) == {}
    assert gone(verdicts(THREE, log(), LogConfig.of({"retention.ms": 8999}))) == {0: by_time}
    assert list(gone(verdicts(THREE, log(), LogConfig.of({"retention.ms": 0})))) == [0, 11, 23]


def test_retention_stops_at_the_first_segment_that_stays() -> None:
    younger_first = segments((0, 400, 9999), (11, 400, 1), (23, 300, 1), end=40)
    assert gone(verdicts(younger_first, log(), LogConfig.of({"retention.ms": 1000}))) == {}


def test_nothing_above_the_high_watermark_is_deleted() -> None:
    config = LogConfig.of({"retention.ms": 0})
    assert list(gone(verdicts(THREE, log(high_watermark=22), config))) == [0]
    assert list(gone(verdicts(THREE, log(high_watermark=39), config))) == [0, 11]


def test_empty_active_segment_stays() -> None:
    with_empty = segments((0, 400, 1000), (11, 0, 1000), end=11)
    assert list(gone(verdicts(with_empty, log(), LogConfig.of({"retention.ms": 0})))) == [0]


def test_each_limit_sees_what_the_one_before_left() -> None:
    config = LogConfig.of({"retention.ms": 7500, "retention.bytes": 700})
    found = verdicts(THREE, log(start=11), config)
    assert gone(found) == {0: RetentionReason.START_OFFSET, 11: RetentionReason.TIME}
    assert [verdict.detail for verdict in found] == [
        "ends at offset 11, the log starts at 11",
        "its largest timestamp is 8000 ms old, retention.ms is 7500",
        "its largest timestamp is 7000 ms old, retention.ms is 7500; "
        "it and the rest have 300 bytes, retention.bytes is 700",
    ]


def test_a_time_before_the_records_is_said_to_be_so() -> None:
    (found, *_) = verdicts(THREE, log(now_ms=400), LogConfig.of({"retention.ms": 7500}))
    later = THREE[0].largest_timestamp - 400
    assert found.detail.startswith(f"its largest timestamp lies {later} ms in the future, retention.ms is 7500;")


def test_a_verdict_says_why_a_segment_stays() -> None:
    def why(config: dict[str, Given], facts: LogFacts | None = None) -> list[str]:
        return [verdict.detail for verdict in verdicts(THREE, facts or log(), LogConfig.of(config))]

    assert why({"retention.ms": -1})[0] == "retention.ms is -1; retention.bytes is -1"
    assert why({"retention.ms": -1})[1:] == ["the older segment 0 stays"] * 2
    assert why({"cleanup.policy": "compact"})[0] == "cleanup.policy is compact"
    assert why({"cleanup.policy": ""})[0] == "cleanup.policy is empty"
    assert why({"retention.ms": 0}, log(high_watermark=22))[1] == "it ends at offset 23, the high watermark is 22"


def test_compact_and_empty_policies_keep_all_but_what_lies_before_the_start() -> None:
    for policy in ("compact", ""):
        config = LogConfig.of({"retention.ms": 0, "retention.bytes": 0, "cleanup.policy": policy})
        assert gone(verdicts(THREE, log(start=11), config)) == {0: RetentionReason.START_OFFSET}
    both = LogConfig.of({"retention.ms": 0, "cleanup.policy": "compact,delete"})
    assert list(gone(verdicts(THREE, log(), both))) == [0, 11, 23]
