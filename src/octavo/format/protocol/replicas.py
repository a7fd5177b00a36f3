"""Schemas for replicas (where partitions are placed) and for the KRaft quorum."""

from __future__ import annotations

from octavo.format.messages.notation import message

ALTER_REPLICA_LOG_DIRS_REQUEST = message("AlterReplicaLogDirsRequest", "1-2", "2+", """
    dirs  []AlterReplicaLogDir
        path    string
        topics  []AlterReplicaLogDirTopic
            name        string
            partitions  []int32
""")  # fmt: skip

ALTER_REPLICA_LOG_DIRS_RESPONSE = message("AlterReplicaLogDirsResponse", "1-2", "2+", """
    throttleTimeMs  int32
    results         []AlterReplicaLogDirTopicResult
        topicName   string
        partitions  []AlterReplicaLogDirPartitionResult
            partitionIndex  int32
            errorCode       int16
""")  # fmt: skip

ALTER_PARTITION_REASSIGNMENTS_REQUEST = message("AlterPartitionReassignmentsRequest", "0-1", "0+", """
    timeoutMs                     int32                     default=60000
    allowReplicationFactorChange  bool                 1+   default=true
    topics                        []ReassignableTopic
        name        string
        partitions  []ReassignablePartition
            partitionIndex  int32
            replicas        []int32  nullable default=null
""")  # fmt: skip

ALTER_PARTITION_REASSIGNMENTS_RESPONSE = message("AlterPartitionReassignmentsResponse", "0-1", "0+", """
    throttleTimeMs                int32
    allowReplicationFactorChange  bool                         1+   default=true ignorable
    errorCode                     int16
    errorMessage                  string                            nullable
    responses                     []ReassignableTopicResponse
        name        string
        partitions  []ReassignablePartitionResponse
            partitionIndex  int32
            errorCode       int16
            errorMessage    string  nullable
""")  # fmt: skip

LIST_PARTITION_REASSIGNMENTS_REQUEST = message("ListPartitionReassignmentsRequest", "0", "0+", """
    timeoutMs  int32                               default=60000
    topics     []ListPartitionReassignmentsTopics  nullable default=null
        name              string
        partitionIndexes  []int32
""")  # fmt: skip

LIST_PARTITION_REASSIGNMENTS_RESPONSE = message("ListPartitionReassignmentsResponse", "0", "0+", """
    throttleTimeMs  int32
    errorCode       int16
    errorMessage    string                      nullable
    topics          []OngoingTopicReassignment
        name        string
        partitions  []OngoingPartitionReassignment
            partitionIndex    int32
            replicas          []int32
            addingReplicas    []int32
            removingReplicas  []int32
""")  # fmt: skip

DESCRIBE_QUORUM_REQUEST = message("DescribeQuorumRequest", "0-2", "0+", """
    topics  []TopicData
        topicName   string
        partitions  []PartitionData
            partitionIndex  int32
""")  # fmt: skip

DESCRIBE_QUORUM_RESPONSE = message("DescribeQuorumResponse", "0-2", "0+", """
    errorCode     int16
    errorMessage  string       2+   nullable ignorable
    topics        []TopicData
        topicName   string
        partitions  []PartitionData
            partitionIndex  int32
            errorCode       int16
            errorMessage    string          2+   nullable ignorable
            leaderId        int32
            leaderEpoch     int32
            highWatermark   int64
            currentVoters   []ReplicaState
                replicaId              int32
                replicaDirectoryId     uuid   2+
                logEndOffset           int64
                lastFetchTimestamp     int64  1+   default=-1 ignorable
                lastCaughtUpTimestamp  int64  1+   default=-1 ignorable
            observers       []ReplicaState
    nodes         []Node       2+
        nodeId     int32       2+
        listeners  []Listener  2+
            name  string  2+
            host  string  2+
            port  uint16  2+
""")  # fmt: skip
