"""Validation of appends: every row of the matrix as real Kafka answers it, and what Octavo promises beyond that."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from octavo.config import LogConfig
from octavo.errors import InvalidBatchError, InvalidTimestampError, KafkaError, RecordTooLargeError
from octavo.format.batches.batch import build_batch, decode_batch, read_header
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.format.record import TimestampType
from octavo.kernels import layout
from octavo.kernels.layout import BATCH_OVERHEAD
from octavo.storage.append import record_reader
from octavo.storage.append.assignment import Assignment
from octavo.storage.append.validate import assign_offsets
from octavo.storage.append_origin import AppendOrigin, AppendRequest
from octavo.storage.log.validation_settings import ValidationSettings
from tests.format.unpacked import unpacked
from tests.storage.produced_sets import (
    GZIP,
    MARKER,
    NOW,
    PLAIN,
    THREE,
    UNKEYED,
    V1,
    changed,
    content,
    cut_stream,
    old_set,
    records,
    wrapper,
)
from tests.storage.validation_answers import GOLDEN, answered, assign, golden, info_of, tells_the_truth
from tests.storage.validation_case import FIRST_OFFSET, LEADER_EPOCH
from tests.storage.validation_cases import APPEND_TIME, CASES, COMPACT, LIMITS

DEFAULTS = ValidationSettings.of(LogConfig.of())
FROM_CLIENT = AppendRequest(AppendOrigin.CLIENT, 0)
TO_DEFAULTS = Assignment(1, NOW, 0, DEFAULTS)


@pytest.mark.parametrize("name", CASES)
def test_each_set_is_answered_as_by_kafka(name: str) -> None:
    case = CASES[name]
    ours, theirs = answered(case), golden(case)
    assert (theirs.refused, theirs.at) == (case.refused, case.at)
    assert (ours.refused, ours.at) == (case.our_refusal, case.at)
    if ours.refused is None:
        assert ours._replace(data=b"") == theirs._replace(data=b"", is_rebuilt=False)
        assert unpacked(ours.data) == unpacked(theirs.data)
        assert theirs.is_rebuilt or ours.data == theirs.data


def test_the_golden_answers_are_those_of_the_matrix() -> None:
    assert GOLDEN.keys() == CASES.keys()


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if tells_the_truth(case.data)])
def test_trust_changes_nothing_where_headers_tell_the_truth(name: str) -> None:
    assert answered(CASES[name], trusted=True) == answered(CASES[name])


@pytest.mark.parametrize("configs", [{}, APPEND_TIME, LIMITS, COMPACT, {"compression.type": "gzip"}], ids=str)
def test_a_trusted_set_is_its_batches_one_after_the_other(configs: dict[str, str]) -> None:
    batches = [PLAIN, changed(GZIP, base_offset=3), build_batch(records(NOW, NOW - 9)), changed(PLAIN, base_offset=9)]
    together = assign(b"".join(batches), configs, trusted=True)
    alone, next_offset = [], FIRST_OFFSET
    for batch in batches:
        result = assign(changed(batch, base_offset=0), configs, first_offset=next_offset)
        alone.append(bytes(result.data))
        next_offset = result.last_offset + 1
    assert bytes(together.data) == b"".join(alone)
    assert (together.first_offset, together.last_offset) == (FIRST_OFFSET, FIRST_OFFSET + 10)
    assert together.max_timestamp == (NOW if configs == APPEND_TIME else NOW + 5)


def test_a_trusted_set_is_refused_for_one_bad_batch() -> None:
    unkeyed = build_batch(UNKEYED)
    with pytest.raises(InvalidBatchError, match="2 of the batch's records") as refused:
        assign(PLAIN + unkeyed, COMPACT, trusted=True)
    assert [error.batch_index for error in refused.value.record_errors] == [0, 2]
    late = build_batch(records(NOW, NOW + 3_600_001))
    with pytest.raises(InvalidTimestampError):
        assign(PLAIN + late, trusted=True)
    with pytest.raises(InvalidBatchError, match="at position 116 is a control batch"):
        assign(PLAIN + MARKER, trusted=True)


def test_a_writable_buffer_is_changed_in_place_and_a_read_only_one_is_not() -> None:
    buffer, untouched = bytearray(PLAIN), bytes(PLAIN)
    result = assign(buffer)
    assert result.data.obj is buffer
    assert read_header(buffer).base_offset == FIRST_OFFSET
    again = assign(untouched)
    assert untouched == PLAIN and bytes(again.data) == buffer
    protected = bytearray(PLAIN)
    table = walk(protected).table
    before = table.tobytes()
    assign_offsets(memoryview(protected).toreadonly(), info_of(table), FROM_CLIENT, TO_DEFAULTS)
    assert protected == PLAIN and table.tobytes() == before


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.our_refusal])
def test_a_refused_buffer_stays_as_it_is(name: str) -> None:
    case = CASES[name]
    buffer = bytearray(case.data)
    with pytest.raises(KafkaError):
        assign(buffer, case.configs, origin=case.origin)
    assert buffer == case.data


def test_what_lies_after_the_batches_is_left_out() -> None:
    result = assign_offsets(memoryview(PLAIN + b"half a batch"), info_of(walk(PLAIN).table), FROM_CLIENT, TO_DEFAULTS)
    assert len(result.data) == len(PLAIN)


# F10
def test_log_append_time_changes_a_v2_header_alone() -> None:
    result = assign(PLAIN, APPEND_TIME)
    header = read_header(result.data)
    assert (header.timestamp_type, header.max_timestamp) == (TimestampType.LOG_APPEND_TIME, NOW)
    assert bytes(result.data[BATCH_OVERHEAD:]) == PLAIN[BATCH_OVERHEAD:]
    assert header.crc != read_header(PLAIN).crc and not header.flaws
    assert result.log_append_time == result.max_timestamp == NOW


# F3
def test_offset_and_leader_epoch_need_no_new_crc() -> None:
    header = read_header(assign(PLAIN).data)
    assert (header.base_offset, header.partition_leader_epoch) == (FIRST_OFFSET, LEADER_EPOCH)
    assert header.crc == read_header(PLAIN).crc


# F9
def test_the_messages_of_a_v1_wrapper_have_its_log_append_time_or_their_own() -> None:
    claimed = wrapper(V1, attributes=layout.LOG_APPEND_TIME)
    _, found = decode_batch(bytes(assign(claimed).data))
    assert [record.timestamp for record in found] == [NOW] * 3
    header, found = decode_batch(bytes(assign(wrapper(V1)).data))
    assert [record.timestamp for record in found] == [NOW - 5, NOW + 5, NOW]
    assert header.max_timestamp == NOW + 5  # the largest inner one
    header, found = decode_batch(bytes(assign(wrapper(V1), APPEND_TIME).data))
    assert [record.timestamp for record in found] == [NOW] * 3


# F15
@pytest.mark.parametrize("source", Codec)
def test_the_topic_forces_a_codec_or_keeps_the_producers(source: Codec) -> None:
    batch = build_batch(THREE, codec=source)
    kept = assign(batch)
    assert bytes(kept.data[BATCH_OVERHEAD:]) == batch[BATCH_OVERHEAD:]
    for name, codec in (("uncompressed", 0), ("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)):
        result = assign(batch, {"compression.type": name})
        assert read_header(result.data).codec_id == codec
        assert content(bytes(result.data)) == content(batch)
        assert (result.data[BATCH_OVERHEAD:] == kept.data[BATCH_OVERHEAD:]) == (codec == source)


def test_the_topics_level_is_used_when_it_forces_a_codec() -> None:
    batch = build_batch([record._replace(value=bytes(range(256)) * 40) for record in THREE])
    sizes = [
        len(assign(batch, {"compression.type": "gzip", "compression.gzip.level": level}).data) for level in ("1", "9")
    ]
    assert sizes[0] > sizes[1]
    assert ValidationSettings.of(LogConfig.of({"compression.gzip.level": "9"})).level is None


# C14
@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
@pytest.mark.parametrize(
    "data",
    [build_batch(UNKEYED), build_batch(UNKEYED, codec=Codec.LZ4), old_set(UNKEYED, 1, codec=Codec.GZIP)],
    ids=["plain", "lz4", "v1"],
)
def test_a_compacted_topic_refuses_records_without_a_key(policy: str, data: bytes) -> None:
    with pytest.raises(InvalidBatchError) as refused:
        assign(data, {"cleanup.policy": policy})
    assert [error.batch_index for error in refused.value.record_errors] == [0, 2]
    assert "compacted topic" in refused.value.record_errors[0].problem
    assert assign(data, {"cleanup.policy": "delete"}).last_offset == FIRST_OFFSET + 2


def test_a_message_says_what_was_found_and_what_is_expected() -> None:
    with pytest.raises(InvalidTimestampError) as refused:
        assign(build_batch(records(NOW, NOW + 1001)), LIMITS)
    assert refused.value.record_errors == ((1, f"timestamp {NOW + 1001}, expected {NOW - 1000} to {NOW + 1000}"),)
    assert str(refused.value).endswith(f"the first is record 1: {refused.value.record_errors[0].problem}")
    with pytest.raises(RecordTooLargeError, match=r"has 116 bytes, expected at most max\.message\.bytes, 99"):
        assign(GZIP, {"compression.type": "uncompressed", "max.message.bytes": "99"})


def test_what_unpacks_to_too_much_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka has no such limit; a producer that gets MESSAGE_TOO_LARGE splits the batch."""
    monkeypatch.setattr(record_reader, "_decoders", record_reader._Decoders())

    def limited(columns: Any) -> Any:
        return Decoder(columns, limit=50)

    monkeypatch.setattr(record_reader, "Decoder", limited)
    with pytest.raises(RecordTooLargeError):
        assign(GZIP)


def test_a_decoder_that_has_read_a_large_batch_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reader, "_decoders", record_reader._Decoders())
    monkeypatch.setattr(record_reader, "KEPT_BYTES", 1000)
    kept = record_reader._decoders.by_columns
    assign(GZIP)
    decoders = list(kept.values())
    assign(GZIP)
    assert list(kept.values()) == decoders and len(decoders) == 1
    assign(build_batch([record._replace(value=bytes(5000)) for record in THREE], codec=Codec.GZIP))
    assert not kept
    assign(GZIP)
    with pytest.raises(InvalidBatchError):
        assign(cut_stream(GZIP))
    assert not kept


def test_threads_validate_at_once() -> None:
    results: list[bytes] = []

    def work() -> None:
        for _ in range(50):
            results.append(bytes(assign(GZIP, {"compression.type": "lz4"}).data))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 200 and len(set(results)) == 1


def test_settings_are_those_of_the_configs() -> None:
    configs = {
        "message.timestamp.type": "LogAppendTime",
        "message.timestamp.before.max.ms": "5",
        "message.timestamp.after.max.ms": "6",
        "compression.type": "zstd",
        "compression.zstd.level": "7",
        "cleanup.policy": "delete,compact",
        "max.message.bytes": "8",
    }
    assert ValidationSettings.of(LogConfig.of(configs)) == ValidationSettings(
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        timestamp_before_max_ms=5,
        timestamp_after_max_ms=6,
        codec=Codec.ZSTD,
        level=7,
        keeps_plain=False,
        is_compacted=True,
        max_message_bytes=8,
    )
    assert (DEFAULTS.codec, DEFAULTS.level, DEFAULTS.is_compacted) == (None, None, False)
    uncompressed = ValidationSettings.of(LogConfig.of({"compression.type": "uncompressed"}))
    assert (uncompressed.codec, uncompressed.level) == (Codec.NONE, None)
    assert replace(uncompressed, codec=None) == DEFAULTS
