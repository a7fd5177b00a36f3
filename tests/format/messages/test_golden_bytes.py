"""Messages of the internal topics byte for byte as Kafka 4.3.1's classes wrote them."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from octavo.format.messages.cluster_metadata import METADATA_TYPES, decode_metadata_record
from octavo.format.messages.consumer_offsets import CONSUMER_OFFSETS_TYPES
from octavo.format.messages.control import decode_kraft_control
from octavo.format.messages.record_json import key_json, kraft_control_json, metadata_json, value_json
from octavo.format.messages.records import (
    CoordinatorKey,
    CoordinatorRecord,
    RecordType,
    Versioned,
    decode_key,
    decode_versioned,
    encode_key,
    encode_versioned,
)
from octavo.format.messages.schema import Row
from octavo.format.messages.share_group_state import SHARE_GROUP_STATE_TYPES
from octavo.format.messages.transaction_state import TRANSACTION_STATE_TYPES, TransactionStatus
from tests.format.messages.encoded import encode_kraft_control, encode_metadata

TS0 = 1700000000000
UUID_1_2 = (1).to_bytes(8, "big") + (2).to_bytes(8, "big")

COMMIT = {"offset": 42, "leaderEpoch": 5, "metadata": "m", "commitTimestamp": TS0}
TRANSACTION = {
    "producerId": 4000,
    "producerEpoch": 3,
    "transactionTimeoutMs": 60000,
    "transactionStatus": TransactionStatus.ONGOING,
    "transactionPartitions": [{"topic": "t", "partitionIds": [0, 2]}],
    "transactionLastUpdateTimestampMs": 8,
    "transactionStartTimestampMs": 7,
}
SNAPSHOT = {
    "snapshotEpoch": 1,
    "stateEpoch": 2,
    "leaderEpoch": 3,
    "startOffset": 4,
    "createTimestamp": 5,
    "writeTimestamp": 6,
    "stateBatches": [{"firstOffset": 4, "lastOffset": 5, "deliveryState": 2, "deliveryCount": 1}],
}


class Key(NamedTuple):
    type: RecordType
    row: Row
    encoded: str
    json: str


class Value(NamedTuple):
    type: RecordType
    version: int
    row: Row
    encoded: str
    json: str


OFFSETS, TRANSACTIONS, SHARES = CONSUMER_OFFSETS_TYPES, TRANSACTION_STATE_TYPES, SHARE_GROUP_STATE_TYPES

KEYS = [
    Key(
        OFFSETS[1],
        {"group": "g1", "topic": "t", "partition": 2},
        "00010002673100017400000002",
        '{"type":"1","data":{"group":"g1","topic":"t","partition":2}}',
    ),
    Key(
        OFFSETS[16],
        {"groupId": "g", "regularExpression": "a.*"},
        "00100001670003612e2a",
        '{"type":"16","data":{"groupId":"g","regularExpression":"a.*"}}',
    ),
    Key(
        TRANSACTIONS[0],
        {"transactionalId": "tx"},
        "000000027478",
        '{"type":"0","data":{"transactionalId":"tx"}}',
    ),
    Key(
        SHARES[0],
        {"groupId": "g", "topicId": UUID_1_2, "partition": 3},
        "00000001670000000000000001000000000000000200000003",
        '{"type":"0","data":{"groupId":"g","topicId":"AAAAAAAAAAEAAAAAAAAAAg","partition":3}}',
    ),
]

VALUES = [
    Value(
        OFFSETS[1],
        3,
        COMMIT,
        "0003000000000000002a0000000500016d0000018bcfe56800",
        '{"version":"3","data":{"offset":42,"leaderEpoch":5,"metadata":"m","commitTimestamp":1700000000000}}',
    ),
    Value(
        OFFSETS[1],
        4,
        COMMIT,
        "0004000000000000002a00000005026d0000018bcfe5680000",
        '{"version":"4","data":{"offset":42,"leaderEpoch":5,"metadata":"m","commitTimestamp":1700000000000}}',
    ),
    Value(
        OFFSETS[1],
        4,
        {**COMMIT, "topicId": UUID_1_2},
        "0004000000000000002a00000005026d0000018bcfe5680001001000000000000000010000000000000002",
        '{"version":"4","data":{"offset":42,"leaderEpoch":5,"metadata":"m","commitTimestamp":1700000000000,'
        '"topicId":"AAAAAAAAAAEAAAAAAAAAAg"}}',
    ),
    Value(
        OFFSETS[2],
        3,
        {"protocol": None, "leader": None, "currentStateTimestamp": 7},
        "0003000000000000ffffffff000000000000000700000000",
        '{"version":"3","data":{"protocolType":"","generation":0,"protocol":null,"leader":null,'
        '"currentStateTimestamp":7,"members":[]}}',
    ),
    Value(OFFSETS[3], 0, {"epoch": 10}, "00000000000a00", '{"version":"0","data":{"epoch":10}}'),
    Value(
        OFFSETS[3],
        0,
        {"epoch": 10, "metadataHash": 7},
        "00000000000a0100080000000000000007",
        '{"version":"0","data":{"epoch":10,"metadataHash":7}}',
    ),
    Value(
        OFFSETS[5],
        0,
        {
            "instanceId": None,
            "rackId": None,
            "clientId": "c",
            "clientHost": "h",
            "subscribedTopicNames": ["t"],
            "subscribedTopicRegex": None,
            "rebalanceTimeoutMs": 5,
            "serverAssignor": None,
            "classicMemberMetadata": {"sessionTimeoutMs": 9, "supportedProtocols": []},
        },
        "000000000263026802027400000000050001000701000000090100",
        '{"version":"0","data":{"instanceId":null,"rackId":null,"clientId":"c","clientHost":"h",'
        '"subscribedTopicNames":["t"],"subscribedTopicRegex":null,"rebalanceTimeoutMs":5,"serverAssignor":null,'
        '"classicMemberMetadata":{"sessionTimeoutMs":9,"supportedProtocols":[]}}}',
    ),
    Value(
        OFFSETS[11],
        0,
        {"epoch": 10, "metadataHash": 7},
        "00000000000a000000000000000700",
        '{"version":"0","data":{"epoch":10,"metadataHash":7}}',
    ),
    Value(
        OFFSETS[16],
        0,
        {"topics": ["ab"], "version": 3, "timestamp": 7},
        "0000020361620000000000000003000000000000000700",
        '{"version":"0","data":{"topics":["ab"],"version":3,"timestamp":7}}',
    ),
    Value(
        OFFSETS[17],
        0,
        {"epoch": 10, "metadataHash": 7, "validatedTopologyEpoch": 1},
        "00000000000a000000000000000701000400000001",
        '{"version":"0","data":{"epoch":10,"metadataHash":7,"validatedTopologyEpoch":1}}',
    ),
    Value(
        TRANSACTIONS[0],
        0,
        TRANSACTION,
        "00000000000000000fa000030000ea60010000000100017400000002000000000000000200000000000000080000000000000007",
        '{"version":"0","data":{"producerId":4000,"producerEpoch":3,"transactionTimeoutMs":60000,'
        '"transactionStatus":1,"transactionPartitions":[{"topic":"t","partitionIds":[0,2]}],'
        '"transactionLastUpdateTimestampMs":8,"transactionStartTimestampMs":7}}',
    ),
    Value(
        TRANSACTIONS[0],
        1,
        {**TRANSACTION, "clientTransactionVersion": 2},
        "00010000000000000fa000030000ea600102027403000000000000000200000000000000000800000000000000070102020002",
        '{"version":"1","data":{"producerId":4000,"producerEpoch":3,"transactionTimeoutMs":60000,'
        '"transactionStatus":1,"transactionPartitions":[{"topic":"t","partitionIds":[0,2]}],'
        '"transactionLastUpdateTimestampMs":8,"transactionStartTimestampMs":7,"clientTransactionVersion":2}}',
    ),
    Value(
        TRANSACTIONS[0],
        1,
        {
            **TRANSACTION,
            "previousProducerId": 3999,
            "nextProducerId": 4001,
            "clientTransactionVersion": 2,
            "nextProducerEpoch": 0,
        },
        "00010000000000000fa000030000ea6001020274030000000000000002000000000000000008"
        "00000000000000070400080000000000000f9f01080000000000000fa10202000203020000",
        '{"version":"1","data":{"producerId":4000,"previousProducerId":3999,"nextProducerId":4001,"producerEpoch":3,'
        '"nextProducerEpoch":0,"transactionTimeoutMs":60000,"transactionStatus":1,'
        '"transactionPartitions":[{"topic":"t","partitionIds":[0,2]}],"transactionLastUpdateTimestampMs":8,'
        '"transactionStartTimestampMs":7,"clientTransactionVersion":2}}',
    ),
    Value(
        SHARES[0],
        0,
        SNAPSHOT,
        "00000000000100000002000000030000000000000004000000000000000500000000000000060200000000000000040000000000"
        "0000050200010000",
        '{"version":"0","data":{"snapshotEpoch":1,"stateEpoch":2,"leaderEpoch":3,"startOffset":4,'
        '"createTimestamp":5,"writeTimestamp":6,'
        '"stateBatches":[{"firstOffset":4,"lastOffset":5,"deliveryState":2,"deliveryCount":1}]}}',
    ),
    Value(
        SHARES[0],
        0,
        {**SNAPSHOT, "deliveryCompleteCount": 2},
        "00000000000100000002000000030000000000000004000000000000000500000000000000060200000000000000040000000000"
        "0000050200010001000400000002",
        '{"version":"0","data":{"snapshotEpoch":1,"stateEpoch":2,"leaderEpoch":3,"startOffset":4,'
        '"deliveryCompleteCount":2,"createTimestamp":5,"writeTimestamp":6,'
        '"stateBatches":[{"firstOffset":4,"lastOffset":5,"deliveryState":2,"deliveryCount":1}]}}',
    ),
]


@pytest.mark.parametrize("sample", KEYS, ids=lambda sample: sample.encoded)
def test_keys_are_kafkas_bytes(sample: Key) -> None:
    types = {sample.type.id: sample.type}
    assert encode_key(sample.type, sample.row).hex() == sample.encoded
    decoded = decode_key(types, bytes.fromhex(sample.encoded))
    assert decoded == CoordinatorKey(sample.type, sample.row)
    assert key_json(decoded) == sample.json


@pytest.mark.parametrize("sample", VALUES, ids=lambda sample: sample.encoded)
def test_values_are_kafkas_bytes(sample: Value) -> None:
    schema = sample.type.value
    assert encode_versioned(schema, sample.version, sample.row).hex() == sample.encoded
    decoded = decode_versioned(schema, bytes.fromhex(sample.encoded))
    defaults = {part.name: part.default() for part in schema.fields}
    assert decoded == Versioned(sample.version, {**defaults, **sample.row})
    assert list(decoded.data) == list(defaults)
    assert value_json(CoordinatorRecord(CoordinatorKey(sample.type, {}), decoded)) == sample.json


@pytest.mark.parametrize(
    ("type_id", "row", "encoded", "json"),
    [
        (
            2,
            {"version": 0, "leaderId": 1, "voters": [{"voterId": 1}], "grantingVoters": []},
            "0000000000010200000001000100",
            '{"version":0,"leaderId":1,"voters":[{"voterId":1}],"grantingVoters":[]}',
        ),
        (
            3,
            {"version": 0, "lastContainedLogTimestamp": 7},
            "0000000000000000000700",
            '{"version":0,"lastContainedLogTimestamp":7}',
        ),
    ],
)
def test_kraft_control_values_are_kafkas_bytes(type_id: int, row: Row, encoded: str, json: str) -> None:
    assert encode_kraft_control(type_id, row).hex() == encoded
    decoded = decode_kraft_control(type_id, bytes.fromhex(encoded))
    assert encode_kraft_control(type_id, decoded).hex() == encoded
    assert kraft_control_json(type_id, decoded) == json


def test_a_metadata_record_is_kafkas_bytes() -> None:
    row = {"name": "metadata.version", "featureLevel": 25}
    encoded = encode_metadata(METADATA_TYPES[12], 0, row)
    assert encoded.hex() == "010c00" + "11" + b"metadata.version".hex() + "0019" + "00"
    record = decode_metadata_record(encoded)
    assert (record.type.name, record.version, record.data) == ("FEATURE_LEVEL_RECORD", 0, row)
    assert (
        metadata_json(record)
        == '{"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"metadata.version","featureLevel":25}}'
    )
