"""The records of `__consumer_offsets`: committed offsets and groups of every kind.

Types 9 (from a preview) and 18 have no schema: Kafka 4.3.1 doesn't know them either. The nullable tagged fields here
default to empty, not to null: Kafka's definitions say `null` without quotes, which its generator takes for no default.
So null is written explicitly, and a member without classicMemberMetadata needs a tag.
"""

from __future__ import annotations

from octavo.format.messages.records import CoordinatorRecord, by_id, decode_record, record_type
from octavo.format.varint import Bytes

_OFFSET = """
    group      string
    topic      string
    partition  int32
"""
_GROUP = "groupId  string"
_MEMBER = """
    groupId   string
    memberId  string
"""
_TARGET_ASSIGNMENT_METADATA = """
    assignmentEpoch      int32
    assignmentTimestamp  int64  tag=0 ignorable
"""
_TARGET_ASSIGNMENT = """
    topicPartitions  []TopicPartition
        topicId     uuid
        partitions  []int32
"""

CONSUMER_OFFSETS_TYPES = by_id(
    record_type(0, "LegacyOffsetCommit", _OFFSET, "0", "none", """
        offset           int64
        metadata         string
        commitTimestamp  int64
    """),
    record_type(1, "OffsetCommit", _OFFSET, "0-4", "4+", """
        offset           int64
        leaderEpoch      int32   3+  default=-1 ignorable
        metadata         string
        commitTimestamp  int64
        expireTimestamp  int64   1   default=-1 ignorable
        topicId          uuid    4+  tag=0 ignorable
    """),
    record_type(2, "GroupMetadata", "group  string", "0-4", "4+", """
        protocolType           string
        generation             int32
        protocol               string  nullable
        leader                 string  nullable
        currentStateTimestamp  int64   2+  default=-1 ignorable
        members                []MemberMetadata
            memberId          string
            groupInstanceId   string  3+  nullable default=null ignorable
            clientId          string
            clientHost        string
            rebalanceTimeout  int32   1+  default=-1 ignorable
            sessionTimeout    int32
            subscription      bytes
            assignment        bytes
    """),
    record_type(3, "ConsumerGroupMetadata", _GROUP, "0", "0+", """
        epoch         int32
        metadataHash  int64  tag=0
    """),
    record_type(4, "ConsumerGroupPartitionMetadata", _GROUP, "0", "0+", """
        topics  []TopicMetadata
            topicId            uuid
            topicName          string
            numPartitions      int32
            partitionMetadata  []PartitionMetadata
                partition  int32
                racks      []string
    """),
    record_type(5, "ConsumerGroupMemberMetadata", _MEMBER, "0", "0+", """
        instanceId             string  nullable
        rackId                 string  nullable
        clientId               string
        clientHost             string
        subscribedTopicNames   []string
        subscribedTopicRegex   string  nullable
        rebalanceTimeoutMs     int32   default=-1
        serverAssignor         string  nullable
        classicMemberMetadata  ClassicMemberMetadata  nullable tag=0
            sessionTimeoutMs    int32
            supportedProtocols  []ClassicProtocol
                name      string
                metadata  bytes
    """),
    record_type(6, "ConsumerGroupTargetAssignmentMetadata", _GROUP, "0", "0+", _TARGET_ASSIGNMENT_METADATA),
    record_type(7, "ConsumerGroupTargetAssignmentMember", _MEMBER, "0", "0+", _TARGET_ASSIGNMENT),
    record_type(8, "ConsumerGroupCurrentMemberAssignment", _MEMBER, "0", "0+", """
        memberEpoch                  int32
        previousMemberEpoch          int32
        state                        int8
        assignedPartitions           []TopicPartitions
            topicId           uuid
            partitions        []int32
            assignmentEpochs  []int32  nullable tag=0
        partitionsPendingRevocation  []TopicPartitions
    """),
    record_type(10, "ShareGroupMemberMetadata", _MEMBER, "0", "0+", """
        rackId                string  nullable
        clientId              string
        clientHost            string
        subscribedTopicNames  []string
    """),
    record_type(11, "ShareGroupMetadata", _GROUP, "0", "0+", """
        epoch         int32
        metadataHash  int64
    """),
    record_type(12, "ShareGroupTargetAssignmentMetadata", _GROUP, "0", "0+", _TARGET_ASSIGNMENT_METADATA),
    record_type(13, "ShareGroupTargetAssignmentMember", _MEMBER, "0", "0+", _TARGET_ASSIGNMENT),
    record_type(14, "ShareGroupCurrentMemberAssignment", _MEMBER, "0", "0+", """
        memberEpoch          int32
        previousMemberEpoch  int32
        state                int8
        assignedPartitions   []TopicPartitions
            topicId     uuid
            partitions  []int32
    """),
    record_type(15, "ShareGroupStatePartitionMetadata", _GROUP, "0", "0+", """
        initializingTopics  []TopicPartitionsInfo
            topicId     uuid
            topicName   string
            partitions  []int32
        initializedTopics   []TopicPartitionsInfo
        deletingTopics      []TopicInfo
            topicId    uuid
            topicName  string
    """),
    record_type(16, "ConsumerGroupRegularExpression", "groupId string\nregularExpression string", "0", "0+", """
        topics     []string
        version    int64
        timestamp  int64
    """),
    record_type(17, "StreamsGroupMetadata", _GROUP, "0", "0+", """
        epoch                   int32
        metadataHash            int64
        validatedTopologyEpoch  int32  tag=0 default=-1
        lastAssignmentConfigs   []LastAssignmentConfig  nullable tag=1
            key    string
            value  string
    """),
    record_type(19, "StreamsGroupMemberMetadata", _MEMBER, "0", "0+", """
        instanceId          string  nullable
        rackId              string  nullable
        clientId            string
        clientHost          string
        rebalanceTimeoutMs  int32   default=-1
        topologyEpoch       int32
        processId           string
        userEndpoint        Endpoint  nullable default=null
            host  string
            port  uint16
        clientTags          []KeyValue
            key    string
            value  string
    """),
    record_type(20, "StreamsGroupTargetAssignmentMetadata", _GROUP, "0", "0+", _TARGET_ASSIGNMENT_METADATA),
    record_type(21, "StreamsGroupTargetAssignmentMember", _MEMBER, "0", "0+", """
        activeTasks   []TaskIds
            subtopologyId  string
            partitions     []int32
        standbyTasks  []TaskIds
        warmupTasks   []TaskIds
    """),
    record_type(22, "StreamsGroupCurrentMemberAssignment", _MEMBER, "0", "0+", """
        memberEpoch                    int32
        previousMemberEpoch            int32
        state                          int8
        activeTasks                    []TaskIds
            subtopologyId     string
            partitions        []int32
            assignmentEpochs  []int32  nullable tag=0
        standbyTasks                   []TaskIds
        warmupTasks                    []TaskIds
        activeTasksPendingRevocation   []TaskIds
        standbyTasksPendingRevocation  []TaskIds
        warmupTasksPendingRevocation   []TaskIds
    """),
    record_type(23, "StreamsGroupTopology", _GROUP, "0", "0+", """
        epoch          int32
        subtopologies  []Subtopology
            subtopologyId            string
            sourceTopics             []string
            sourceTopicRegex         []string
            stateChangelogTopics     []TopicInfo
                name               string
                partitions         int32
                replicationFactor  int16
                topicConfigs       []TopicConfig
                    key    string
                    value  string
            repartitionSinkTopics    []string
            repartitionSourceTopics  []TopicInfo
            copartitionGroups        []CopartitionGroup
                sourceTopics             []int16
                sourceTopicRegex         []int16
                repartitionSourceTopics  []int16
    """),
)  # fmt: skip

GROUP_METADATA = CONSUMER_OFFSETS_TYPES[2]


def decode_consumer_offsets_record(key: Bytes, value: Bytes | None) -> CoordinatorRecord:
    """Decode a record of `__consumer_offsets`."""
    return decode_record(CONSUMER_OFFSETS_TYPES, key, value)
