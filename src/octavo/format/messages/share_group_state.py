"""The records of `__share_group_state`: a share partition's delivery state, complete (snapshot) or as a change
(update)."""

from __future__ import annotations

from octavo.format.messages.records import by_id, record_type

_SHARE_PARTITION = """
    groupId    string
    topicId    uuid
    partition  int32
"""

SHARE_GROUP_STATE_TYPES = by_id(
    record_type(0, "ShareSnapshot", _SHARE_PARTITION, "0", "0+", """
        snapshotEpoch          int32
        stateEpoch             int32
        leaderEpoch            int32
        startOffset            int64
        deliveryCompleteCount  int32  tag=0 default=-1
        createTimestamp        int64
        writeTimestamp         int64
        stateBatches           []StateBatch
            firstOffset    int64
            lastOffset     int64
            deliveryState  int8
            deliveryCount  int16
    """),
    record_type(1, "ShareUpdate", _SHARE_PARTITION, "0", "0+", """
        snapshotEpoch          int32
        leaderEpoch            int32
        startOffset            int64
        deliveryCompleteCount  int32  tag=0 default=-1
        stateBatches           []StateBatch
            firstOffset    int64
            lastOffset     int64
            deliveryState  int8
            deliveryCount  int16
    """),
)  # fmt: skip
