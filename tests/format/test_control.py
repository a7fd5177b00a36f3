"""Control records: keys, transaction markers, KRaft's messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import CorruptionError, EncodingError, InvalidRecordError
from octavo.format.batches.batch import decode_batch, read_header
from octavo.format.batches.control import (
    ControlType,
    EndTransactionMarker,
    build_marker_batch,
    control_type_id,
    decode_control,
    encode_control_key,
)
from octavo.format.batches.header import BatchHeader
from octavo.format.batches.walker import walk
from octavo.format.messages.schema import Row
from octavo.format.record import Record
from tests.format.exact_batches import empty_batch
from tests.format.messages.encoded import build_kraft_batch, encode_kraft_control
from tests.golden import archives

TS0 = 1700000000000
COMMIT_AT_50 = bytes.fromhex(
    "00000000000000320000004200000005023a9760040030000000000000018bcfe568000000018bcfe568000000000000000fa00003ffffffff"
    "000000012000000008000000010c00000000000900"
)
LEADER_CHANGE_VALUE = bytes.fromhex("0000000000010200000001000100")
SNAPSHOT_HEADER_VALUE = bytes.fromhex("0000000000000000000700")
INT32 = st.integers(-(2**31), 2**31 - 1)


def commit_at_50() -> bytes:
    marker = EndTransactionMarker(ControlType.COMMIT, 9)
    return build_marker_batch(
        marker, offset=50, timestamp=TS0, producer_id=4000, producer_epoch=3, partition_leader_epoch=5
    )


# F5
def test_a_marker_is_a_batch_of_one_record() -> None:
    assert commit_at_50() == COMMIT_AT_50
    assert len(COMMIT_AT_50) == 78
    header, (record,) = decode_batch(COMMIT_AT_50)
    assert header.is_control and header.is_transactional and header.attributes == 0x30
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (4000, 3, -1)
    assert record.key == bytes.fromhex("00000001") and record.value == bytes.fromhex("000000000009")
    assert decode_control(record.key, record.value) == EndTransactionMarker(ControlType.COMMIT, 9)


# F5
@pytest.mark.parametrize(("type_id", "control_type"), [(0, ControlType.ABORT), (1, ControlType.COMMIT)])
def test_an_abort_has_type_0_and_a_commit_type_1(type_id: int, control_type: ControlType) -> None:
    key = b"\0\0" + type_id.to_bytes(2)
    assert control_type_id(key) == type_id
    assert ControlType(type_id) is control_type
    assert encode_control_key(control_type) == key


@pytest.mark.parametrize(
    ("key", "type_id"),
    [("00000001", 1), ("00010000", 0), ("7fff0006", 6), ("0000ffff", -1), ("00000007", 7), ("00008000ff", -32768)],
)
def test_a_key_of_a_later_version_or_length_is_read_as_version_0(key: str, type_id: int) -> None:
    assert control_type_id(bytes.fromhex(key)) == type_id


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (None, "key of null, expected at least 4 bytes"),
        (b"", "key of 0 bytes, expected at least 4"),
        (b"\0\0\0", "key of 3 bytes, expected at least 4"),
        (b"\xff\xff\0\1", "version -1 of a control record's key, expected 0 or more"),
    ],
)
def test_a_broken_key_is_refused(key: bytes | None, said: str) -> None:
    with pytest.raises(InvalidRecordError, match=said):
        control_type_id(key)


@pytest.mark.parametrize("type_id", [-1, 7, 999, -32768])
def test_an_unknown_type_is_ignored_and_never_written(type_id: int) -> None:
    assert ControlType(type_id) is ControlType.UNKNOWN
    assert decode_control(b"\0\0" + type_id.to_bytes(2, signed=True), None) is None
    with pytest.raises(EncodingError, match="unknown type"):
        encode_control_key(ControlType(type_id))


@pytest.mark.parametrize(
    ("value", "epoch"), [("000000000009", 9), ("0005ffffffff", -1), ("00000000000977", 9), ("7fff7fffffff", 2**31 - 1)]
)
def test_a_marker_of_a_later_version_or_length_is_read_as_version_0(value: str, epoch: int) -> None:
    marker = decode_control(encode_control_key(ControlType.ABORT), bytes.fromhex(value))
    assert marker == EndTransactionMarker(ControlType.ABORT, epoch)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "value of null, expected at least 6 bytes"),
        (b"\0\0\0\0\0", "value of 5 bytes, expected at least 6"),
        (b"\x80\0\0\0\0\0", "version -32768 of a control record's value"),
    ],
)
def test_a_broken_marker_is_refused(value: bytes | None, said: str) -> None:
    with pytest.raises(InvalidRecordError, match=said):
        decode_control(encode_control_key(ControlType.COMMIT), value)


def test_markers_that_cannot_be_built_are_refused() -> None:
    with pytest.raises(EncodingError, match="LEADER_CHANGE, expected ABORT or COMMIT"):
        EndTransactionMarker(ControlType.LEADER_CHANGE, 0)
    with pytest.raises(EncodingError, match="coordinator epoch 2147483648"):
        EndTransactionMarker(ControlType.COMMIT, 2**31).encode_value()
    with pytest.raises(EncodingError, match="without a producer id"):
        build_marker_batch(
            EndTransactionMarker(ControlType.COMMIT, 0), offset=0, timestamp=0, producer_id=-1, producer_epoch=-1
        )


def test_a_cleaned_marker_is_a_control_batch_without_records() -> None:
    cleaned = empty_batch(read_header(COMMIT_AT_50))
    header, records = decode_batch(cleaned)
    assert (len(cleaned), header.base_offset, header.last_offset, records) == (61, 50, 50, [])
    assert header.is_control and header.is_transactional and header.producer_epoch == 3


LEADER_CHANGE_ROW = {
    "version": 0,
    "leaderId": 1,
    "voters": [{"voterId": 1}],
    "grantingVoters": [],
}


def test_kraft_values_are_decoded() -> None:
    leader_change = decode_control(encode_control_key(ControlType.LEADER_CHANGE), LEADER_CHANGE_VALUE)
    assert isinstance(leader_change, dict)
    assert leader_change["leaderId"] == 1 and leader_change["grantingVoters"] == []
    assert [voter["voterId"] for voter in leader_change["voters"]] == [1]
    header = decode_control(encode_control_key(ControlType.SNAPSHOT_HEADER), SNAPSHOT_HEADER_VALUE)
    assert header == {"version": 0, "lastContainedLogTimestamp": 7}


def test_a_kraft_batch_may_hold_several_records() -> None:
    rows: list[tuple[ControlType, Row]] = [
        (ControlType.LEADER_CHANGE, LEADER_CHANGE_ROW),
        (ControlType.SNAPSHOT_HEADER, {"version": 0, "lastContainedLogTimestamp": 7}),
        (ControlType.SNAPSHOT_FOOTER, {"version": 0}),
    ]
    batch = build_kraft_batch(rows, base_offset=10, timestamp=TS0, partition_leader_epoch=4)
    header, records = decode_batch(batch)
    assert header.attributes == 0x20 and header.partition_leader_epoch == 4 and header.producer_id == -1
    assert [record.offset for record in records] == [10, 11, 12]
    assert [record.value for record in records][:2] == [LEADER_CHANGE_VALUE, SNAPSHOT_HEADER_VALUE]
    assert [control_type_id(record.key) for record in records] == [2, 3, 4]


def test_a_kraft_record_has_a_value() -> None:
    with pytest.raises(InvalidRecordError, match="null value in a LEADER_CHANGE record"):
        decode_control(encode_control_key(ControlType.LEADER_CHANGE), None)


@given(st.sampled_from([ControlType.ABORT, ControlType.COMMIT]), INT32)
def test_markers_come_back(control_type: ControlType, coordinator_epoch: int) -> None:
    marker = EndTransactionMarker(control_type, coordinator_epoch)
    assert decode_control(encode_control_key(control_type), marker.encode_value()) == marker


@given(st.none() | st.binary(max_size=8), st.none() | st.binary(max_size=64))
def test_garbage_is_accepted_or_refused_with_the_documented_error(key: bytes | None, value: bytes | None) -> None:
    try:
        decode_control(key, value)
    except CorruptionError as error:
        assert error.position is not None


@pytest.mark.parametrize("archive", [name for name in archives.archives() if name not in ("v431-corrupt", "v431-torn")])
def test_every_control_record_of_the_archives_is_read_and_built_again(archive: str) -> None:
    # F5
    for path in [*archives.files(archive, "*.log*"), *archives.files(archive, "0*.checkpoint")]:
        found = walk(path.read_bytes())
        for row in found.table[(found.table["magic"] == 2) & (found.table["attributes"] & 0x20 != 0)]:
            header, records = decode_batch(found.data, int(row["position"]))
            for record in records:
                control = decode_control(record.key, record.value)
                assert control is not None, (path, header.position)
                if isinstance(control, EndTransactionMarker):
                    assert header.is_transactional and header.count == 1
                    stored = bytes(found.data[header.position : header.position + header.size])
                    assert header.delete_horizon_ms is not None or stored == build_again(header, record, control)
                else:
                    assert encode_kraft_control(control_type_id(record.key), control) == record.value


def build_again(header: BatchHeader, record: Record, marker: EndTransactionMarker) -> bytes:
    return build_marker_batch(
        marker,
        offset=record.offset,
        timestamp=record.timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        partition_leader_epoch=header.partition_leader_epoch,
    )
