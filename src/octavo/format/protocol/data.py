"""Schemas for data: what producers send and consumers fetch, how records are deleted and offsets found."""

from __future__ import annotations

from octavo.format.messages.notation import message

PRODUCE_REQUEST = message("ProduceRequest", "3-13", "9+", """
    transactionalId  string              3+   nullable default=null
    acks             int16
    timeoutMs        int32
    topicData        []TopicProduceData
        name           string                  0-12 ignorable
        topicId        uuid                    13+  ignorable
        partitionData  []PartitionProduceData
            index    int32
            records  records       nullable
""")  # fmt: skip

PRODUCE_RESPONSE = message("ProduceResponse", "3-13", "9+", """
    responses       []TopicProduceResponse
        name                string                      0-12 ignorable
        topicId             uuid                        13+  ignorable
        partitionResponses  []PartitionProduceResponse
            index            int32
            errorCode        int16
            baseOffset       int64
            logAppendTimeMs  int64                        2+   default=-1 ignorable
            logStartOffset   int64                        5+   default=-1 ignorable
            recordErrors     []BatchIndexAndErrorMessage  8+   ignorable
                batchIndex              int32   8+
                batchIndexErrorMessage  string  8+   nullable default=null
            errorMessage     string                       8+   nullable default=null ignorable
            currentLeader    LeaderIdAndEpoch             10+  tag=0
                leaderId     int32  10+  default=-1
                leaderEpoch  int32  10+  default=-1
    throttleTimeMs  int32                   1+   ignorable
    nodeEndpoints   []NodeEndpoint          10+  tag=0
        nodeId  int32   10+
        host    string  10+
        port    int32   10+
        rack    string  10+  nullable default=null
""")  # fmt: skip

FETCH_REQUEST = message("FetchRequest", "4-18", "12+", """
    clusterId            string            12+  nullable tag=0 default=null ignorable
    replicaId            int32             0-14 default=-1
    replicaState         ReplicaState      15+  tag=1
        replicaId     int32  15+  default=-1
        replicaEpoch  int64  15+  default=-1
    maxWaitMs            int32
    minBytes             int32
    maxBytes             int32             3+   default=2147483647 ignorable
    isolationLevel       int8              4+   ignorable
    sessionId            int32             7+   ignorable
    sessionEpoch         int32             7+   default=-1 ignorable
    topics               []FetchTopic
        topic       string            0-12 ignorable
        topicId     uuid              13+  ignorable
        partitions  []FetchPartition
            partition           int32
            currentLeaderEpoch  int32  9+   default=-1 ignorable
            fetchOffset         int64
            lastFetchedEpoch    int32  12+  default=-1
            logStartOffset      int64  5+   default=-1 ignorable
            partitionMaxBytes   int32
            replicaDirectoryId  uuid   17+  tag=0 ignorable
            highWatermark       int64  18+  tag=1 default=9223372036854775807 ignorable
    forgottenTopicsData  []ForgottenTopic  7+
        topic       string   7-12 ignorable
        topicId     uuid     13+  ignorable
        partitions  []int32  7+
    rackId               string            11+  ignorable
""")  # fmt: skip

FETCH_RESPONSE = message("FetchResponse", "4-18", "12+", """
    throttleTimeMs  int32                     1+   ignorable
    errorCode       int16                     7+   ignorable
    sessionId       int32                     7+
    responses       []FetchableTopicResponse
        topic       string           0-12 ignorable
        topicId     uuid             13+  ignorable
        partitions  []PartitionData
            partitionIndex        int32
            errorCode             int16
            highWatermark         int64
            lastStableOffset      int64                 4+   default=-1 ignorable
            logStartOffset        int64                 5+   default=-1 ignorable
            divergingEpoch        EpochEndOffset        12+  tag=0
                epoch      int32  12+  default=-1
                endOffset  int64  12+  default=-1
            currentLeader         LeaderIdAndEpoch      12+  tag=1
                leaderId     int32  12+  default=-1
                leaderEpoch  int32  12+  default=-1
            snapshotId            SnapshotId            12+  tag=2
                endOffset  int64       default=-1
                epoch      int32       default=-1
            abortedTransactions   []AbortedTransaction  4+   nullable ignorable
                producerId   int64  4+
                firstOffset  int64  4+
            preferredReadReplica  int32                 11+  default=-1
            records               records                    nullable
    nodeEndpoints   []NodeEndpoint            16+  tag=0
        nodeId  int32   16+
        host    string  16+
        port    int32   16+
        rack    string  16+  nullable default=null
""")  # fmt: skip

LIST_OFFSETS_REQUEST = message("ListOffsetsRequest", "1-11", "6+", """
    replicaId       int32
    isolationLevel  int8                2+
    topics          []ListOffsetsTopic
        name        string
        partitions  []ListOffsetsPartition
            partitionIndex      int32
            currentLeaderEpoch  int32  4+   default=-1 ignorable
            timestamp           int64
    timeoutMs       int32               10+  ignorable
""")  # fmt: skip

LIST_OFFSETS_RESPONSE = message("ListOffsetsResponse", "1-11", "6+", """
    throttleTimeMs  int32                       2+   ignorable
    topics          []ListOffsetsTopicResponse
        name        string
        partitions  []ListOffsetsPartitionResponse
            partitionIndex  int32
            errorCode       int16
            timestamp       int64  1+   default=-1
            offset          int64  1+   default=-1
            leaderEpoch     int32  4+   default=-1
""")  # fmt: skip

DELETE_RECORDS_REQUEST = message("DeleteRecordsRequest", "0-2", "2+", """
    topics     []DeleteRecordsTopic
        name        string
        partitions  []DeleteRecordsPartition
            partitionIndex  int32
            offset          int64
    timeoutMs  int32
""")  # fmt: skip

DELETE_RECORDS_RESPONSE = message("DeleteRecordsResponse", "0-2", "2+", """
    throttleTimeMs  int32
    topics          []DeleteRecordsTopicResult
        name        string
        partitions  []DeleteRecordsPartitionResult
            partitionIndex  int32
            lowWatermark    int64
            errorCode       int16
""")  # fmt: skip

OFFSET_FOR_LEADER_EPOCH_REQUEST = message("OffsetForLeaderEpochRequest", "2-4", "4+", """
    replicaId  int32                   3+   default=-2 ignorable
    topics     []OffsetForLeaderTopic
        topic       string
        partitions  []OffsetForLeaderPartition
            partition           int32
            currentLeaderEpoch  int32  2+   default=-1 ignorable
            leaderEpoch         int32
""")  # fmt: skip

OFFSET_FOR_LEADER_EPOCH_RESPONSE = message("OffsetForLeaderEpochResponse", "2-4", "4+", """
    throttleTimeMs  int32                         2+   ignorable
    topics          []OffsetForLeaderTopicResult
        topic       string
        partitions  []EpochEndOffset
            errorCode    int16
            partition    int32
            leaderEpoch  int32  1+   default=-1 ignorable
            endOffset    int64       default=-1
""")  # fmt: skip
