"""Records of `__remote_log_metadata`; bytes and texts are those of Kafka 4.3.1's own classes."""

from __future__ import annotations

import pytest

from octavo.errors import CorruptionError
from octavo.format.messages.records import decode_metadata
from octavo.format.messages.remote_log_metadata import REMOTE_METADATA_TYPES, remote_metadata_text
from tests.format.messages.encoded import encode_metadata

PARTITION = "076f72646572730000000000000001000000000000000200000003"
PARTITION_TEXT = "AAAAAAAAAAEAAAAAAAAAAg:orders-3"
SEGMENT = f"{PARTITION}000000000000000003000000000000000400"
SEGMENT_TEXT = f"RemoteLogSegmentId{{topicIdPartition={PARTITION_TEXT}, id=AAAAAAAAAAMAAAAAAAAABA}}"
TIMES = "0000000100000000000000640000000000000005"  # broker id, max timestamp, event timestamp
RANGE = "000000000000000a0000000000000063"
RANGE_TEXT = "startOffset=10, endOffset=99"
EPOCHS = "0400000001000000000000000a0000000005000000000000003c0000000064000000000000006300"
EPOCHS_TEXT = "segmentLeaderEpochs={1=10, 5=60, 100=99}, segmentSizeInBytes=1000"

SAMPLES = {
    f"010000{SEGMENT}{RANGE}{TIMES}{EPOCHS}000003e8000001000101": (
        f"RemoteLogSegmentMetadata{{remoteLogSegmentId={SEGMENT_TEXT}, {RANGE_TEXT}, brokerId=1, maxTimestampMs=100, "
        f"eventTimestampMs=5, {EPOCHS_TEXT}, customMetadata=Optional.empty, state=COPY_SEGMENT_STARTED, "
        "txnIdxEmpty=true}"
    ),
    f"010100{SEGMENT}000000020000000000000007010300": (
        f"RemoteLogSegmentMetadataUpdate{{remoteLogSegmentId={SEGMENT_TEXT}, "
        "customMetadata=Optional[CustomMetadata{0 bytes}], state=DELETE_SEGMENT_FINISHED, eventTimestampMs=7, "
        "brokerId=2}"
    ),
    f"010200{PARTITION}000000000400000000000000080100": (
        f"RemotePartitionDeleteMetadata{{topicPartition={PARTITION_TEXT}, state=DELETE_PARTITION_STARTED, "
        "eventTimestampMs=8, brokerId=4}"
    ),
    f"01030000000000000000030000000000000004{RANGE}{TIMES}{EPOCHS}000003e802010201000101": (
        f"RemoteLogSegmentMetadataSnapshot{{segmentId=AAAAAAAAAAMAAAAAAAAABA, {RANGE_TEXT}, maxTimestampMs=100, "
        f"{EPOCHS_TEXT}, customMetadata=Optional[CustomMetadata{{1 bytes}}], state=DELETE_SEGMENT_STARTED, "
        "txnIdxEmpty=true}"
    ),
}


@pytest.mark.parametrize("data", SAMPLES)
def test_a_record_has_kafkas_text_and_comes_back(data: str) -> None:
    record = decode_metadata(REMOTE_METADATA_TYPES, bytes.fromhex(data))
    assert remote_metadata_text(record) == SAMPLES[data]
    assert encode_metadata(record.type, record.version, record.data).hex() == data


@pytest.mark.parametrize(
    ("type_id", "change", "reason"),
    [
        (0, {"startOffset": -1}, "Unexpected start offset = -1. StartOffset for a remote segment cannot be negative"),
        (
            0,
            {"endOffset": 1},
            "Unexpected end offset = 1. EndOffset for a remote segment cannot be less than startOffset = 10",
        ),
        (0, {"segmentLeaderEpochs": []}, "segmentLeaderEpochs can not be null or empty"),
        (3, {"segmentLeaderEpochs": []}, "segmentLeaderEpochs can not be null or empty"),
        (1, {"remoteLogSegmentState": 9}, "state can not be null"),
        (2, {"remotePartitionDeleteState": -1}, "null"),
    ],
)
def test_what_kafkas_classes_refuse_is_refused(type_id: int, change: dict[str, object], reason: str) -> None:
    record = decode_metadata(REMOTE_METADATA_TYPES, bytes.fromhex(list(SAMPLES)[type_id]))
    with pytest.raises(CorruptionError) as caught:
        remote_metadata_text(record._replace(data={**record.data, **change}))
    assert caught.value.problem == reason
