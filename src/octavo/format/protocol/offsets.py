"""Schemas for the offsets that groups commit."""

from __future__ import annotations

from octavo.format.messages.notation import message

OFFSET_COMMIT_REQUEST = message("OffsetCommitRequest", "2-10", "8+", """
    groupId                    string
    generationIdOrMemberEpoch  int32                       1+   default=-1 ignorable
    memberId                   string                      1+   ignorable
    groupInstanceId            string                      7+   nullable default=null
    retentionTimeMs            int64                       2-4  default=-1 ignorable
    topics                     []OffsetCommitRequestTopic
        name        string  0-9  ignorable
        topicId     uuid    10+  ignorable
        partitions  []OffsetCommitRequestPartition
            partitionIndex        int32
            committedOffset       int64
            committedLeaderEpoch  int32   6+  default=-1 ignorable
            committedMetadata     string      nullable
""")  # fmt: skip

OFFSET_COMMIT_RESPONSE = message("OffsetCommitResponse", "2-10", "8+", """
    throttleTimeMs  int32                        3+  ignorable
    topics          []OffsetCommitResponseTopic
        name        string  0-9  ignorable
        topicId     uuid    10+  ignorable
        partitions  []OffsetCommitResponsePartition
            partitionIndex  int32
            errorCode       int16
""")  # fmt: skip

OFFSET_FETCH_REQUEST = message("OffsetFetchRequest", "1-10", "6+", """
    groupId        string                     0-7
    topics         []OffsetFetchRequestTopic  0-7  nullable=2-7
        name              string   0-7
        partitionIndexes  []int32  0-7
    groups         []OffsetFetchRequestGroup  8+
        groupId      string                      8+
        memberId     string                      9+  nullable default=null ignorable
        memberEpoch  int32                       9+  default=-1 ignorable
        topics       []OffsetFetchRequestTopics  8+  nullable
            name              string   8-9  ignorable
            topicId           uuid     10+  ignorable
            partitionIndexes  []int32  8+
    requireStable  bool                       7+   default=false
""")  # fmt: skip

OFFSET_FETCH_RESPONSE = message("OffsetFetchResponse", "1-10", "6+", """
    throttleTimeMs  int32                       3+   ignorable
    topics          []OffsetFetchResponseTopic  0-7
        name        string                          0-7
        partitions  []OffsetFetchResponsePartition  0-7
            partitionIndex        int32   0-7
            committedOffset       int64   0-7
            committedLeaderEpoch  int32   5-7  default=-1 ignorable
            metadata              string  0-7  nullable
            errorCode             int16   0-7
    errorCode       int16                       2-7  default=0 ignorable
    groups          []OffsetFetchResponseGroup  8+
        groupId    string                       8+
        topics     []OffsetFetchResponseTopics  8+
            name        string                           8-9  ignorable
            topicId     uuid                             10+  ignorable
            partitions  []OffsetFetchResponsePartitions  8+
                partitionIndex        int32   8+
                committedOffset       int64   8+
                committedLeaderEpoch  int32   8+  default=-1 ignorable
                metadata              string  8+  nullable
                errorCode             int16   8+
        errorCode  int16                        8+  default=0
""")  # fmt: skip

OFFSET_DELETE_REQUEST = message("OffsetDeleteRequest", "0", "none", """
    groupId  string
    topics   []OffsetDeleteRequestTopic
        name        string
        partitions  []OffsetDeleteRequestPartition
            partitionIndex  int32
""")  # fmt: skip

OFFSET_DELETE_RESPONSE = message("OffsetDeleteResponse", "0", "none", """
    errorCode       int16
    throttleTimeMs  int32                        ignorable
    topics          []OffsetDeleteResponseTopic
        name        string
        partitions  []OffsetDeleteResponsePartition
            partitionIndex  int32
            errorCode       int16
""")  # fmt: skip

TXN_OFFSET_COMMIT_REQUEST = message("TxnOffsetCommitRequest", "0-5", "3+", """
    transactionalId  string
    groupId          string
    producerId       int64
    producerEpoch    int16
    generationId     int32                          3+  default=-1
    memberId         string                         3+
    groupInstanceId  string                         3+  nullable default=null
    topics           []TxnOffsetCommitRequestTopic
        name        string
        partitions  []TxnOffsetCommitRequestPartition
            partitionIndex        int32
            committedOffset       int64
            committedLeaderEpoch  int32   2+  default=-1 ignorable
            committedMetadata     string      nullable
""")  # fmt: skip

TXN_OFFSET_COMMIT_RESPONSE = message("TxnOffsetCommitResponse", "0-5", "3+", """
    throttleTimeMs  int32
    topics          []TxnOffsetCommitResponseTopic
        name        string
        partitions  []TxnOffsetCommitResponsePartition
            partitionIndex  int32
            errorCode       int16
""")  # fmt: skip
