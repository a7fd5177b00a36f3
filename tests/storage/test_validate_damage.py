"""Damaged sets with checksums that fit: an append accepts them, or refuses them with a documented error."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.config import LogConfig
from octavo.errors import AppendRejected
from octavo.format.batches.walker import walk
from octavo.kernels.layout import Stop
from octavo.storage.append.append_info import examine
from octavo.storage.append.assignment import Assignment
from octavo.storage.append.plain import assign_plain, survey
from octavo.storage.append.validate import assign_offsets
from octavo.storage.append_origin import AppendOrigin, AppendRequest
from octavo.storage.log.validation_settings import ValidationSettings
from tests.format.crafted import seal
from tests.storage.produced_sets import NOW
from tests.storage.validation_cases import CASES

SETS = sorted({case.data for case in CASES.values()})
CHANGES = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=5)
TOPICS = [
    ValidationSettings.of(
        LogConfig.of({"cleanup.policy": policy, "compression.type": codec, "message.timestamp.type": time})
    )
    for policy in ("delete", "compact")
    for codec in ("producer", "uncompressed", "zstd")
    for time in ("CreateTime", "LogAppendTime")
]


def with_fitting_checksums(data: bytes) -> bytes:
    fixed = bytearray(data)
    for row in walk(data, check_crc=False).table:
        seal(fixed, int(row["position"]), int(row["position"]) + int(row["size"]))
    return bytes(fixed)


@settings(max_examples=1000, deadline=None)
@given(
    data=st.sampled_from(SETS),
    changes=CHANGES,
    origin=st.sampled_from([AppendOrigin.CLIENT, AppendOrigin.COORDINATOR]),
    topic=st.sampled_from(TOPICS),
)
def test_nothing_but_a_refusal_escapes(
    data: bytes, changes: list[tuple[int, int]], origin: AppendOrigin, topic: ValidationSettings
) -> None:
    damaged = bytearray(data)
    for position, value in changes if data else ():
        damaged[position % len(data)] = value
    sent = with_fitting_checksums(bytes(damaged))
    buffer = bytearray(sent)
    try:
        request = AppendRequest(origin, leader_epoch=3)
        info = examine(memoryview(buffer), request, max_message_bytes=10**6)
        if not info.summary.end:
            return
        result = assign_offsets(memoryview(buffer), info, request, Assignment(50, NOW, 3, topic))
    except AppendRejected:
        assert buffer == sent
        return
    written = walk(result.data)
    assert written.stop is Stop.END and not written.table["flaws"].any()
    assert written.table.tolist() == result.table.tolist()
    if origin is AppendOrigin.CLIENT:
        assert [row["base_offset"] for row in written.table] == [50]
        assert result.last_offset == 50 + int(written.table[0]["last_offset_delta"])


@settings(max_examples=500, deadline=None)
@given(data=st.sampled_from(SETS), changes=CHANGES | st.just([]), topic=st.sampled_from(TOPICS))
def test_a_survey_changes_no_outcome(data: bytes, changes: list[tuple[int, int]], topic: ValidationSettings) -> None:
    """A batch that a survey finds sound gets the same result as one whose records are examined."""
    damaged = bytearray(data)
    for position, value in changes if data else ():
        damaged[position % len(data)] = value
    sent = with_fitting_checksums(bytes(damaged))

    def outcome(*, is_surveyed: bool) -> tuple[bytes, object]:
        buffer, request = bytearray(sent), AppendRequest(AppendOrigin.CLIENT, leader_epoch=3)
        view, assignment = memoryview(buffer), Assignment(50, NOW, 3, topic)
        surveyed = survey(view, request, replace(topic, max_message_bytes=10**6)) if is_surveyed else None
        try:
            result = None if surveyed is None else assign_plain(view, surveyed, *assignment)
            if result is None:
                result = assign_offsets(view, examine(view, request, max_message_bytes=10**6), request, assignment)
        except AppendRejected as error:
            return bytes(buffer), repr(error)
        return bytes(result.data), (result.table.tolist(), result[2:])

    assert outcome(is_surveyed=True) == outcome(is_surveyed=False)
