"""The analysis of a set before the log is locked: every check as real Kafka answers it, for each origin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from octavo.errors import AppendRejected, CorruptBatchError, OffsetsOutOfOrderError
from octavo.format.batches.batch_row import BatchRow, batch_row, batch_rows
from octavo.format.batches.batch_summary import summarize
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.format.record import Record
from octavo.kernels.layout import BATCH
from octavo.storage.append.append_info import AppendInfo, check_batches, clearly_sound, examine
from octavo.storage.append_origin import AppendOrigin, AppendRequest
from tests.storage.analysis_cases import ASSIGNING, CASES, EPOCH, SIZE, SOUND, batch
from tests.storage.produced_sets import NOW, old_set
from tests.storage.validation_answers import assign
from tests.storage.validation_case import FIRST_OFFSET, ILLEGAL, LEADER_EPOCH


def examined(
    data: bytes,
    origin: AppendOrigin,
    max_message_bytes: int = 1 << 20,
    leader_epoch: int = EPOCH,
    trusted: bool = False,
) -> AppendInfo:
    return examine(memoryview(data), AppendRequest(origin, leader_epoch, trusted=trusted), max_message_bytes)


@pytest.mark.parametrize("name", CASES)
def test_each_set_is_answered_as_by_kafka(name: str) -> None:
    case = CASES[name]
    max_message_bytes = int(case.configs.get("max.message.bytes", 1_048_588))
    try:
        info = examined(case.data, case.origin, max_message_bytes)
        answer: str | tuple[int, int] = (info.summary.end, info.summary.last_offset)
        if info.summary.end and case.origin.assigns_offsets:
            result = assign(case.data[: info.summary.end], case.configs, origin=case.origin)
            answer = len(result.data), result.last_offset - FIRST_OFFSET
    except AppendRejected as error:
        answer = error.kafka_name
    assert answer == ("UnknownServerException" if case.answer == ILLEGAL else case.answer)


def test_every_origin_has_cases() -> None:
    assert {case.origin for case in CASES.values()} == set(AppendOrigin)
    assert {origin.name for origin in AppendOrigin if origin.assigns_offsets} == set(ASSIGNING)
    assert LEADER_EPOCH == EPOCH


def test_an_examination_finds_the_offsets_times_and_codec_of_a_set() -> None:
    data = SOUND + batch(7, 2, EPOCH - 1, Codec.LZ4) + batch(9, 1, EPOCH)
    info = examined(data, AppendOrigin.REPLICATION)
    assert info.summary.end == len(data) and len(info.table) == 3
    assert (info.first_offset, info.summary.first_last_offset, info.summary.last_offset) == (0, 2, 9)
    assert (info.summary.max_timestamp, info.source_codec) == (NOW + 2, Codec.LZ4)


def test_an_examination_finds_the_offsets_and_times_of_old_messages() -> None:
    data = old_set([Record(4, NOW, b"k", b"v"), Record(5, NOW + 7, b"k", b"v")], 1)
    info = examined(data, AppendOrigin.REPLICATION)
    assert (info.first_offset, info.summary.first_last_offset, info.summary.last_offset) == (None, 4, 5)
    assert (info.summary.max_timestamp, info.source_codec) == (NOW + 7, Codec.NONE)
    v0 = examined(old_set([Record(0, NOW, None, b"v")], 0), AppendOrigin.CLIENT)
    assert v0.summary.max_timestamp == -1


def test_nothing_is_known_about_an_empty_set() -> None:
    info = examined(b"", AppendOrigin.CLIENT)
    assert not len(info.table) and info.summary.end == 0
    assert (info.first_offset, info.summary.last_offset, info.source_codec) == (None, -1, Codec.NONE)


def test_trusted_batches_may_follow_one_another() -> None:
    info = examined(SOUND + batch(3) + batch(6), AppendOrigin.CLIENT, trusted=True)
    assert info.summary.last_offset == 8


def test_a_message_says_where_the_batch_is_and_what_is_wrong() -> None:
    with pytest.raises(OffsetsOutOfOrderError, match=f"position {SIZE} ends at offset 2, expected more than 2"):
        examined(SOUND * 2, AppendOrigin.REPLICATION)
    damaged = SOUND + batch(3) + batch(6)[:-1] + b"\1"
    with pytest.raises(CorruptBatchError, match=f"the batch at position {2 * SIZE} does not match its stored CRC"):
        examined(damaged, AppendOrigin.REPLICATION)


def test_a_row_has_the_fields_of_the_table() -> None:
    names = [name.replace("record_count", "count") for name in BatchRow._fields]
    assert names == list(BATCH.names or ())
    table = walk(SOUND + batch(3)).table
    assert [row.base_offset for row in batch_rows(table)] == [0, 3]
    row = batch_row(table, -1)
    assert (row.position, row.end, row.last_offset, row.record_count, row.codec_id) == (SIZE, 2 * SIZE, 5, 3, 0)
    assert not row.is_control and not row.claims_append_time


INT64 = st.integers(0, 4) | st.sampled_from([-1, 2**63 - 1, -(2**63)])
ROWS = st.fixed_dictionaries(
    {
        "base_offset": INT64,
        "last_offset_delta": st.integers(-1, 3),
        "size": st.integers(61, 64),
        "partition_leader_epoch": st.integers(-1, 2),
        "attributes": st.sampled_from([0, 0, 0, 1, 4, 5]),
        "magic": st.sampled_from([0, 1, 2, 2, 2]),
        "flaws": st.sampled_from([0, 0, 0, 0, 0, 1, 2, 4, 8]),
    }
)


# An offset beyond 64 bits wraps around, as Java's long does.
@example(
    [{"base_offset": -(2**63), "last_offset_delta": -1, "magic": 2, "size": 61}], AppendOrigin.REPLICATION, 62, 0, False
)
@settings(max_examples=500)
@given(
    st.lists(ROWS, min_size=1, max_size=4),
    st.sampled_from(AppendOrigin),
    st.integers(62, 64),
    st.integers(0, 2),
    st.booleans(),
)
def test_batches_that_are_rejected_one_by_one_are_not_clearly_sound_at_once(
    rows: list[dict[str, int]], origin: AppendOrigin, max_message_bytes: int, leader_epoch: int, trusted: bool
) -> None:
    table = np.zeros(len(rows), BATCH)
    for at, row in enumerate(rows):
        for name, value in row.items():
            table[at][name] = value
    request = AppendRequest(origin, leader_epoch, trusted=trusted)
    try:
        check_batches(table, request, max_message_bytes)
    except AppendRejected:
        assert not clearly_sound(summarize(table), request, max_message_bytes)
