"""The records of `__remote_log_metadata`: where tiered storage keeps segments, and their text as Kafka prints it."""

from __future__ import annotations

from octavo.errors import CorruptionError
from octavo.format.kafka_uuid import to_text
from octavo.format.messages.records import MetadataRecord, by_id, metadata_type
from octavo.format.messages.schema import Row

_SEGMENT_ID = """
    remoteLogSegmentId  RemoteLogSegmentIdEntry
        topicIdPartition  TopicIdPartitionEntry
            name       string
            id         uuid
            partition  int32
        id                uuid
"""
_SEGMENT = """
    startOffset            int64
    endOffset              int64
    brokerId               int32
    maxTimestampMs         int64
    eventTimestampMs       int64
    segmentLeaderEpochs    []SegmentLeaderEpochEntry
        leaderEpoch  int32
        offset       int64
    segmentSizeInBytes     int32
    customMetadata         bytes  nullable default=null
    remoteLogSegmentState  int8
    txnIndexEmpty          bool   tag=0 default=false
"""

REMOTE_METADATA_TYPES = by_id(
    metadata_type(0, "RemoteLogSegmentMetadataRecord", "0", _SEGMENT_ID + _SEGMENT),
    metadata_type(1, "RemoteLogSegmentMetadataUpdateRecord", "0", _SEGMENT_ID + """
    brokerId               int32
    eventTimestampMs       int64
    customMetadata         bytes  nullable default=null
    remoteLogSegmentState  int8
    """),
    metadata_type(2, "RemotePartitionDeleteMetadataRecord", "0", """
        topicIdPartition            TopicIdPartitionEntry
            name       string
            id         uuid
            partition  int32
        brokerId                    int32
        eventTimestampMs            int64
        remotePartitionDeleteState  int8
    """),
    metadata_type(3, "RemoteLogSegmentMetadataSnapshotRecord", "0", "    segmentId  uuid" + _SEGMENT),
)  # fmt: skip

SEGMENT_STATES = ("COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED")
DELETE_STATES = ("DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED")


def remote_metadata_text(record: MetadataRecord) -> str:
    """A record as Kafka's classes print it; CorruptionError, with their words, where they would raise."""
    row = record.data
    if record.type.id == 2:
        partition = _partition(row["topicIdPartition"])
        state = _state(DELETE_STATES, row["remotePartitionDeleteState"], "null")
        end = f"state={state}, eventTimestampMs={row['eventTimestampMs']}, brokerId={row['brokerId']}"
        return f"RemotePartitionDeleteMetadata{{topicPartition={partition}, {end}}}"
    if record.type.id == 0:
        _check_offsets(row)
    state = _state(SEGMENT_STATES, row["remoteLogSegmentState"], "state can not be null")
    content = row["customMetadata"]
    custom = "Optional.empty" if content is None else f"Optional[CustomMetadata{{{len(content)} bytes}}]"
    if record.type.id == 1:
        end = f"customMetadata={custom}, state={state}, eventTimestampMs={row['eventTimestampMs']}"
        start = f"remoteLogSegmentId={_segment_id(row)}"
        return f"RemoteLogSegmentMetadataUpdate{{{start}, {end}, brokerId={row['brokerId']}}}"
    size = f"segmentLeaderEpochs={_epochs(row)}, segmentSizeInBytes={row['segmentSizeInBytes']}"
    end = f"{size}, customMetadata={custom}, state={state}, txnIdxEmpty={str(row['txnIndexEmpty']).lower()}"
    range_text = f"startOffset={row['startOffset']}, endOffset={row['endOffset']}"
    newest = f"maxTimestampMs={row['maxTimestampMs']}"
    if record.type.id == 3:
        start = f"segmentId={to_text(row['segmentId'])}"
        return f"RemoteLogSegmentMetadataSnapshot{{{start}, {range_text}, {newest}, {end}}}"
    event = f"eventTimestampMs={row['eventTimestampMs']}"
    start = f"remoteLogSegmentId={_segment_id(row)}, {range_text}, brokerId={row['brokerId']}"
    return f"RemoteLogSegmentMetadata{{{start}, {newest}, {event}, {end}}}"


def _check_offsets(row: Row) -> None:
    start, end = row["startOffset"], row["endOffset"]
    if start < 0:
        raise CorruptionError(f"Unexpected start offset = {start}. StartOffset for a remote segment cannot be negative")
    if end < start:
        found = f"Unexpected end offset = {end}. EndOffset for a remote segment"
        raise CorruptionError(f"{found} cannot be less than startOffset = {start}")
    _epochs(row)


def _epochs(row: Row) -> str:
    """Epochs with their first offsets, ascending; if an epoch occurs twice, the last one counts."""
    epochs = {entry["leaderEpoch"]: entry["offset"] for entry in row["segmentLeaderEpochs"]}
    if not epochs:
        raise CorruptionError("segmentLeaderEpochs can not be null or empty")
    return "{" + ", ".join(f"{epoch}={offset}" for epoch, offset in sorted(epochs.items())) + "}"


def _state(states: tuple[str, ...], state_id: int, reason: str) -> str:
    if not 0 <= state_id < len(states):
        raise CorruptionError(reason)
    return states[state_id]


def _segment_id(row: Row) -> str:
    segment = row["remoteLogSegmentId"]
    return (
        f"RemoteLogSegmentId{{topicIdPartition={_partition(segment['topicIdPartition'])}, id={to_text(segment['id'])}}}"
    )


def _partition(row: Row) -> str:
    return f"{to_text(row['id'])}:{row['name']}-{row['partition']}"
