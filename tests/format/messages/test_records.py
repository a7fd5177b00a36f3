"""The wrapping of internal topics' messages: what is read, what is refused, what is ignored."""

from __future__ import annotations

import pytest

from octavo.errors import CorruptionError, EncodingError
from octavo.format.messages.cluster_metadata import METADATA_TYPES, decode_metadata_record
from octavo.format.messages.consumer_offsets import CONSUMER_OFFSETS_TYPES, decode_consumer_offsets_record
from octavo.format.messages.consumer_protocol import decode_assignment, decode_subscription, encode_assignment
from octavo.format.messages.control import decode_kraft_control
from octavo.format.messages.record_json import value_json
from octavo.format.messages.records import UnknownRecordTypeError, decode_record, encode_key, encode_versioned
from octavo.format.messages.share_group_state import SHARE_GROUP_STATE_TYPES
from octavo.format.messages.transaction_state import TRANSACTION_STATE_TYPES, decode_transaction_state_record
from tests.format.messages.encoded import encode_metadata, encode_subscription

COMMIT_KEY = bytes.fromhex("00010002673100017400000002")
COMMIT_VALUE = bytes.fromhex("0003000000000000002a0000000500016d0000018bcfe56800")


def test_a_tombstone_has_a_key_but_no_value() -> None:
    record = decode_consumer_offsets_record(COMMIT_KEY, None)
    assert (record.key.type.name, record.key.data["group"], record.value) == ("OFFSET_COMMIT", "g1", None)
    assert value_json(record) is None
    assert decode_transaction_state_record(encode_key(TRANSACTION_STATE_TYPES[0], {}), None).value is None
    assert decode_record(SHARE_GROUP_STATE_TYPES, encode_key(SHARE_GROUP_STATE_TYPES[1], {}), None).key.type.id == 1


@pytest.mark.parametrize("type_id", [-1, 9, 18, 24, 32767])
def test_unknown_record_types_are_refused(type_id: int) -> None:
    with pytest.raises(UnknownRecordTypeError, match=f"record type {type_id} is unknown") as caught:
        decode_consumer_offsets_record(type_id.to_bytes(2, "big", signed=True) + COMMIT_KEY[2:], COMMIT_VALUE)
    assert (caught.value.type_id, caught.value.position) == (type_id, 0)


def test_unknown_value_versions_are_refused() -> None:
    for version in (b"\x00\x05", b"\xff\xff"):
        with pytest.raises(CorruptionError, match=r"OffsetCommitValue has no version -?[15]; known: 0-4"):
            decode_consumer_offsets_record(COMMIT_KEY, version + COMMIT_VALUE[2:])
    with pytest.raises(CorruptionError, match="LegacyOffsetCommitValue has no version 3; known: 0"):
        decode_consumer_offsets_record(b"\x00\x00" + COMMIT_KEY[2:], COMMIT_VALUE)


def test_cut_prefixes_are_refused() -> None:
    with pytest.raises(CorruptionError, match="the record type needs 2 bytes, 1 is left"):
        decode_consumer_offsets_record(b"\x00", None)
    with pytest.raises(CorruptionError, match="the version of OffsetCommitValue needs 2 bytes, 0 are left"):
        decode_consumer_offsets_record(COMMIT_KEY, b"")


def test_positions_count_from_the_prefix() -> None:
    with pytest.raises(CorruptionError, match=r"OffsetCommitKey\.topic needs 1 byte, 0 are left") as caught:
        decode_consumer_offsets_record(COMMIT_KEY[:8], None)
    assert caught.value.position == 8


def test_bytes_after_a_coordinators_message_are_ignored() -> None:
    record = decode_consumer_offsets_record(COMMIT_KEY + b"!", COMMIT_VALUE + b"!")
    assert record == decode_consumer_offsets_record(COMMIT_KEY, COMMIT_VALUE)


def test_a_transactions_tagged_values_have_no_place_in_version_0() -> None:
    schema = TRANSACTION_STATE_TYPES[0].value
    with pytest.raises(EncodingError, match="previousProducerId is set, but version 0"):
        encode_versioned(schema, 0, {"previousProducerId": 5})
    assert encode_versioned(schema, 0, {"previousProducerId": -1}) == encode_versioned(schema, 0, {})


@pytest.mark.parametrize(
    ("encoded", "problem", "position"),
    [
        ("", "the frame version: the data ends", 0),
        ("000c00", "frame version 0 is unknown, expected 1", 0),
        ("020c00", "frame version 2 is unknown, expected 1", 0),
        ("01", "the record type: the data ends", 1),
        ("010600", "record type 6 is unknown", 1),
        ("01ffffffff0f00", "record type 4294967295 is unknown", 1),
        ("010c", "the record version: the data ends", 2),
        ("010c01", "FeatureLevelRecord has no version 1; known: 0", 3),
        ("010c000261", "FeatureLevelRecord.featureLevel needs 2 bytes, 0 are left", 5),
        ("01140000ff", "1 byte is left after NO_OP_RECORD version 0, expected none", 4),
    ],
)
def test_broken_metadata_records_are_refused(encoded: str, problem: str, position: int) -> None:
    with pytest.raises(CorruptionError, match=problem) as caught:
        decode_metadata_record(bytes.fromhex(encoded))
    assert caught.value.position == position


def test_a_metadata_record_is_read() -> None:
    row = {"topicName": "t"}
    record = decode_metadata_record(encode_metadata(METADATA_TYPES[28], 0, row))
    assert (record.type, record.version, record.data) == (METADATA_TYPES[28], 0, row)


def test_only_kraft_types_are_decoded_and_what_follows_is_ignored() -> None:
    with pytest.raises(CorruptionError, match="control record type 1 is not one of KRaft's"):
        decode_kraft_control(1, b"")
    assert decode_kraft_control(4, b"\x00\x00\x00tail") == {"version": 0}


SUBSCRIPTION = {"topics": ["t"], "userData": None, "ownedPartitions": [], "generationId": -1, "rackId": None}
ASSIGNMENT = {"assignedPartitions": [{"topic": "t", "partitions": [0, 1]}], "userData": b"u"}


def test_the_consumer_protocol_is_written_and_read() -> None:
    encoded = encode_subscription(3, SUBSCRIPTION)
    assert encoded.hex() == "000300000001000174ffffffff00000000ffffffffffff"
    assert decode_subscription(encoded) == (3, SUBSCRIPTION)
    assert encode_subscription(0, SUBSCRIPTION).hex() == "000000000001000174ffffffff"
    encoded = encode_assignment(1, ASSIGNMENT)
    assert encoded.hex() == "0001000000010001740000000200000000000000010000000175"
    assert decode_assignment(encoded) == (1, ASSIGNMENT)


def test_a_newer_consumer_protocol_is_read_as_the_newest_known() -> None:
    encoded = encode_subscription(3, SUBSCRIPTION)
    assert decode_subscription(b"\x00\x09" + encoded[2:] + b"more") == (3, SUBSCRIPTION)
    with pytest.raises(CorruptionError, match="ConsumerProtocolSubscription has no version -1"):
        decode_subscription(b"\xff\xff" + encoded[2:])
    with pytest.raises(CorruptionError, match="the version of ConsumerProtocolAssignment needs 2 bytes"):
        decode_assignment(b"")


def test_members_that_cannot_be_read_are_shown_as_base64() -> None:
    kind = CONSUMER_OFFSETS_TYPES[2]
    members = [{"memberId": "m", "subscription": encode_subscription(0, SUBSCRIPTION), "assignment": b"?"}]
    for protocol_type, subscription in (
        ("consumer", '{"topics":["t"],"userData":null}'),
        ("connect", '"AAAAAAABAAF0/////w=="'),
    ):
        value = encode_versioned(kind.value, 0, {"protocolType": protocol_type, "members": members})
        record = decode_consumer_offsets_record(encode_key(kind, {"group": "g"}), value)
        assert value_json(record) == (
            f'{{"version":"0","data":{{"protocolType":"{protocol_type}","generation":0,"protocol":"","leader":"",'
            '"members":[{"memberId":"m","clientId":"","clientHost":"","sessionTimeout":0,'
            f'"subscription":{subscription},"assignment":"Pw=="}}]}}}}'
        )
