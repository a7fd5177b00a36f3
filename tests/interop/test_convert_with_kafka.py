"""Random sets converted by Kafka's own classes and by ours: the same bytes, except for a codec library's choices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from octavo.errors import InvalidRecordError, UnsupportedCompressionTypeError
from octavo.format.batches.batch import BatchTraits
from octavo.format.batches.convert import down_convert, rewrite_as_v2, up_convert
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.format.record import TimestampType
from tests.format.stamped import with_timestamp
from tests.format.unpacked import unpacked
from tests.interop.conversion_process import Kafka

pytestmark = pytest.mark.kafka
THOROUGH = settings(
    max_examples=80, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)

TIMESTAMPS = st.just(-1) | st.integers(1_600_000_000_000, 1_800_000_000_000)
DATA = st.none() | st.binary(max_size=40).map(bytes.hex)
HEADERS = st.lists(st.tuples(st.text(max_size=4), DATA), max_size=3)
GAPS = st.integers(1, 3)
PRODUCER = {"producer_id": 4000, "producer_epoch": 3, "base_sequence": 7}


@pytest.fixture(scope="module")
def kafka_392() -> Iterator[Kafka]:
    with Kafka("3.9.2") as kafka:
        yield kafka


@pytest.fixture(scope="module")
def kafka_431() -> Iterator[Kafka]:
    with Kafka("4.3.1") as kafka:
        yield kafka


@st.composite
def records(draw: st.DrawFn, magic: int, first: int) -> list[list[Any]]:
    """Offset, timestamp, key, value, headers of each; offsets with gaps, as compaction leaves them."""
    rows, offset = [], first
    for _ in range(draw(st.integers(1, 6))):
        headers = draw(HEADERS) if magic == 2 else []
        rows.append([offset, draw(TIMESTAMPS), draw(DATA), draw(DATA), headers])
        offset += draw(GAPS)
    return rows


@st.composite
def batches(draw: st.DrawFn, magics: tuple[int, ...], first: int) -> dict[str, Any]:
    """A request to Kafka's builder."""
    magic = draw(st.sampled_from(magics))
    request: dict[str, Any] = {"magic": magic, "codec": draw(st.sampled_from([0, 0, 1, 2, 3, 4][: 5 + (magic == 2)]))}
    if magic and draw(st.booleans()):
        request["log_append_time"] = draw(TIMESTAMPS)
    if magic == 2:
        request["partition_leader_epoch"] = draw(st.integers(-1, 9))
        request |= draw(st.sampled_from([{}, PRODUCER, {**PRODUCER, "is_transactional": True}]))
        if draw(st.integers(0, 5)) == 0:
            marker = [first, draw(st.integers(0, 2**41)), "00000001", "000000000009", []]
            return {"magic": 2, "codec": 0, "is_control": True, "records": [marker]}
    return {**request, "records": draw(records(magic, first))}


@st.composite
def logs(draw: st.DrawFn, magics: tuple[int, ...] = (0, 1, 2)) -> list[dict[str, Any]]:
    first, requests = draw(st.integers(0, 2**40)), []
    for _ in range(draw(st.integers(1, 4))):
        requests.append(draw(batches(magics, first)))
        first = requests[-1]["records"][-1][0] + draw(GAPS)
    return requests


# F16
@THOROUGH
@given(requests=logs(), to_magic=st.sampled_from([0, 1, 2]), skipped=st.integers(0, 8), cut=st.integers(0, 3))
def test_sets_are_converted_down_as_kafka_does(
    kafka_392: Kafka, requests: list[dict[str, Any]], to_magic: int, skipped: int, cut: int
) -> None:
    data = b"".join(kafka_392.build(**request) for request in requests)
    data = data[: len(data) - cut]
    first_offset = requests[0]["records"][0][0] + skipped
    theirs = kafka_392.ask("down_convert", data=data.hex(), to_magic=to_magic, first_offset=first_offset)
    if theirs == "UnsupportedCompressionTypeException":
        with pytest.raises(UnsupportedCompressionTypeError):
            down_convert(data, to_magic, first_offset)
    else:
        assert isinstance(theirs, bytes), theirs
        assert unpacked(down_convert(data, to_magic, first_offset)) == unpacked(theirs)


# F16
@THOROUGH
@given(
    requests=st.sampled_from([0, 1]).flatmap(lambda magic: logs((magic,))),
    to_magic=st.sampled_from([1, 2]),
    target=st.sampled_from(Codec),
    now=st.none() | TIMESTAMPS.filter(lambda timestamp: timestamp >= 0),
    first_offset=st.integers(0, 2**62),
)
def test_sets_are_converted_up_as_kafka_does(
    kafka_392: Kafka,
    kafka_431: Kafka,
    requests: list[dict[str, Any]],
    to_magic: int,
    target: Codec,
    now: int | None,
    first_offset: int,
) -> None:
    magic = requests[0]["magic"]
    to_magic = max(to_magic, magic + 1)
    target = Codec.LZ4 if target is Codec.ZSTD and to_magic < 2 else target
    for request in requests:
        request.pop("log_append_time", None)  # no producer may claim LogAppendTime
    data = b"".join(kafka_392.build(**request) for request in requests)
    source = max(request["codec"] for request in requests)
    theirs = kafka_431.ask(
        "append",
        data=data.hex(),
        to_magic=to_magic,
        first_offset=first_offset,
        source_codec=source,
        codec=target,
        log_append_time=now,
        partition_leader_epoch=4,
    )
    traits = BatchTraits(codec=target, log_append_time=now, partition_leader_epoch=4)
    if theirs == "InvalidRecordException":
        assert source and len(walk(data).table) > 1
        with pytest.raises(InvalidRecordError):
            up_convert(data, to_magic, traits, first_offset)
    else:
        assert isinstance(theirs, bytes), theirs
        assert unpacked(up_convert(data, to_magic, traits, first_offset)) == unpacked(theirs)


# F16
@THOROUGH
@given(requests=logs((0, 1)), stamp=st.none() | TIMESTAMPS)
def test_sets_are_rewritten_as_kafkas_cleaner_does(
    kafka_392: Kafka, kafka_431: Kafka, requests: list[dict[str, Any]], stamp: int | None
) -> None:
    data = b"".join(kafka_392.build(**request) for request in requests)
    if stamp is not None:  # as a broker with LogAppendTime does: in place, so inner messages keep their own timestamps
        data = b"".join(stamped(data, int(row["position"]), int(row["size"]), stamp) for row in walk(data).table)
    theirs = kafka_431.ask("rewrite", data=data.hex())
    assert isinstance(theirs, bytes), theirs
    assert unpacked(rewrite_as_v2(data)) == unpacked(theirs)


def stamped(data: bytes, position: int, size: int, timestamp: int) -> bytes:
    entry = data[position : position + size]
    return with_timestamp(entry, TimestampType.LOG_APPEND_TIME, timestamp) if entry[16] == 1 else entry
