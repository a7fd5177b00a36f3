"""The same appends to real Kafka and to Octavo: the same refusals, the same records at fault, the same bytes to write.

Parts that were compressed again are compared decompressed, since a codec's library chooses its bytes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from octavo.errors import KafkaError
from octavo.format.batches.batch import Origin, build_batch, read_header
from octavo.format.compression import Codec
from octavo.format.record import Header, Record
from octavo.storage.append_origin import AppendOrigin
from tests.format.exact_batches import encode_batch
from tests.format.unpacked import unpacked
from tests.interop.real_log import RealLog
from tests.interop.real_validator import RealValidator
from tests.storage import analysis_cases, validation_cases
from tests.storage.produced_sets import NOW, changed, old_set
from tests.storage.validation_answers import answered, golden, tells_the_truth
from tests.storage.validation_case import UNFORESEEN, Case

pytestmark = pytest.mark.kafka
THOROUGH = settings(
    max_examples=400, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.fixture(scope="module")
def kafka(jvm: ModuleType) -> RealValidator:
    return RealValidator(jvm)


@pytest.mark.parametrize("name", validation_cases.CASES)
def test_the_matrix_is_what_kafka_answers(kafka: RealValidator, name: str) -> None:
    case = validation_cases.CASES[name]
    theirs, known = kafka.validate(case), golden(case)
    assert (theirs.refused, theirs.at) == (case.refused, case.at)
    assert theirs._replace(data=b"") == known._replace(data=b"")
    assert unpacked(theirs.data) == unpacked(known.data)


@pytest.mark.parametrize("name", analysis_cases.CASES)
def test_whole_batches_are_checked_as_kafkas_log_does(jvm: ModuleType, tmp_path: Path, name: str) -> None:
    case = analysis_cases.CASES[name]
    folder = tmp_path / "topic-0"
    real = RealLog(jvm, folder, configs={"internal.segment.bytes": "1048576", **case.configs})
    try:
        answer = real.append(case.data, case.origin.name, 2, analysis_cases.EPOCH)
    finally:
        real.close()
    if isinstance(answer, tuple):
        answer = (folder / f"{0:020}.log").stat().st_size, answer[1]
    assert answer == case.answer


# Timestamps around the limits of the configs below, and around -1, which means none.
TIMES = st.sampled_from([-1, 0, 5, NOW - 1001, NOW - 1000, NOW, NOW + 1000, NOW + 1001, NOW + 2 * 3_600_000])
KEYS = st.none() | st.binary(max_size=8)
HEADERS = st.lists(st.builds(Header, st.text(max_size=3), st.none() | st.binary(max_size=5)), max_size=2).map(tuple)
RECORDS = st.lists(st.tuples(TIMES, KEYS, KEYS, HEADERS), min_size=1, max_size=5)
ORIGINS = st.sampled_from([AppendOrigin.CLIENT, AppendOrigin.COORDINATOR])
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "cleanup.policy": st.sampled_from(["compact", "delete", "compact,delete"]),
        "compression.type": st.sampled_from(["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"]),
        "message.timestamp.type": st.sampled_from(["CreateTime", "LogAppendTime"]),
        "message.timestamp.before.max.ms": st.sampled_from(["1000", "9223372036854775807"]),
        "message.timestamp.after.max.ms": st.sampled_from(["1000", "3600000"]),
    },
)
PRODUCERS = st.sampled_from(
    [Origin(), Origin(producer_id=9, producer_epoch=2, base_sequence=2**31 - 2), Origin(is_control=True)]
)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "base_offset": st.sampled_from([0, 4]),
        "last_offset_delta": st.integers(-1, 6),
        "count": st.integers(-1, 5),
        "max_timestamp": TIMES,
        "base_sequence": st.sampled_from([-1, 0]),
        "producer_id": st.sampled_from([-1, 7]),
        "producer_epoch": st.sampled_from([-1, 0]),
    },
)


def numbered(rows: list[tuple[Any, ...]], first: int = 0, step: int = 1) -> list[Record]:
    return [Record(first + step * at, *row) for at, row in enumerate(rows)]


@st.composite
def batches(draw: st.DrawFn) -> bytes:
    """A v2 batch; more than half of them have a false header or records numbered with gaps."""
    codec, step = draw(st.sampled_from(Codec)), draw(st.sampled_from([1, 1, 1, 2]))
    found = numbered(draw(RECORDS), step=step)
    claimed = draw(st.none() | st.none() | TIMES)
    batch = build_batch(found, codec=codec, log_append_time=claimed, origin=draw(PRODUCERS))
    if step > 1 and draw(st.booleans()):
        batch = changed(batch, last_offset_delta=len(found) - 1)
    if draw(st.booleans()):
        batch = changed(batch, **draw(CHANGES))
    if draw(st.integers(0, 9)) == 0:
        batch = encode_batch(replace(read_header(batch), base_timestamp=-9), found)  # times before 1970
    return batch


@st.composite
def old_sets(draw: st.DrawFn) -> bytes:
    magic, codec = draw(st.sampled_from([0, 1])), draw(st.sampled_from([Codec.NONE, Codec.NONE, Codec.GZIP, Codec.LZ4]))
    return old_set(numbered(draw(RECORDS), draw(st.integers(0, 3))), magic, codec=codec)


SETS = st.one_of(batches(), batches(), old_sets(), st.lists(batches() | old_sets(), max_size=2).map(b"".join))


@THOROUGH
@given(data=SETS, configs=CONFIGS, origin=ORIGINS)
def test_random_sets_are_answered_as_kafka_does(
    kafka: RealValidator, data: bytes, configs: dict[str, str], origin: AppendOrigin
) -> None:
    case = Case(name="random", data=data, origin=origin, configs=configs)
    theirs, ours = kafka.validate(case), answered(case)
    if theirs.refused in UNFORESEEN:
        assert ours.refused == "UnknownServerException"
        return
    assert (ours.refused, ours.at) == (theirs.refused, theirs.at)
    assert unpacked(ours.data) == unpacked(theirs.data)
    if ours.refused is None:
        assert ours._replace(data=b"") == theirs._replace(data=b"", is_rebuilt=False)
        assert theirs.is_rebuilt or ours.data == theirs.data
    if tells_the_truth(data):
        assert answered(case, trusted=True) == ours


def test_every_error_is_kafkas(jvm: ModuleType) -> None:
    """Name, code and exception of each error class, as in Kafka's own table."""
    errors = jvm.JClass("org.apache.kafka.common.protocol.Errors")
    known = {str(error.name()): (int(error.code()), error.exception()) for error in errors.values()}
    for error in all_errors(KafkaError):
        code, exception = known[error.error]
        assert error.code == code
        if error.error != "UNKNOWN_SERVER_ERROR":
            assert error.kafka_name == str(exception.getClass().getSimpleName())


def all_errors(error: type[KafkaError]) -> list[type[KafkaError]]:
    return [error, *(child for kind in error.__subclasses__() for child in all_errors(kind))]
