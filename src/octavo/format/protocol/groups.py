"""Schemas for groups: their coordinator, members of both protocols, descriptions."""

from __future__ import annotations

from octavo.format.messages.notation import message

FIND_COORDINATOR_REQUEST = message("FindCoordinatorRequest", "0-6", "3+", """
    key              string    0-3
    keyType          int8      1+   default=0
    coordinatorKeys  []string  4+
""")  # fmt: skip

FIND_COORDINATOR_RESPONSE = message("FindCoordinatorResponse", "0-6", "3+", """
    throttleTimeMs  int32          1+   ignorable
    errorCode       int16          0-3
    errorMessage    string         1-3  nullable ignorable
    nodeId          int32          0-3
    host            string         0-3
    port            int32          0-3
    coordinators    []Coordinator  4+
        key           string  4+
        nodeId        int32   4+
        host          string  4+
        port          int32   4+
        errorCode     int16   4+
        errorMessage  string  4+  nullable ignorable
""")  # fmt: skip

JOIN_GROUP_REQUEST = message("JoinGroupRequest", "0-9", "6+", """
    groupId             string
    sessionTimeoutMs    int32
    rebalanceTimeoutMs  int32                       1+  default=-1 ignorable
    memberId            string
    groupInstanceId     string                      5+  nullable default=null
    protocolType        string
    protocols           []JoinGroupRequestProtocol
        name      string
        metadata  bytes
    reason              string                      8+  nullable default=null ignorable
""")  # fmt: skip

JOIN_GROUP_RESPONSE = message("JoinGroupResponse", "0-9", "6+", """
    throttleTimeMs  int32                      2+  ignorable
    errorCode       int16
    generationId    int32                          default=-1
    protocolType    string                     7+  nullable default=null ignorable
    protocolName    string                         nullable=7+
    leader          string
    skipAssignment  bool                       9+  default=false
    memberId        string
    members         []JoinGroupResponseMember
        memberId         string
        groupInstanceId  string  5+  nullable default=null ignorable
        metadata         bytes
""")  # fmt: skip

SYNC_GROUP_REQUEST = message("SyncGroupRequest", "0-5", "4+", """
    groupId          string
    generationId     int32
    memberId         string
    groupInstanceId  string                        3+  nullable default=null
    protocolType     string                        5+  nullable default=null ignorable
    protocolName     string                        5+  nullable default=null ignorable
    assignments      []SyncGroupRequestAssignment
        memberId    string
        assignment  bytes
""")  # fmt: skip

SYNC_GROUP_RESPONSE = message("SyncGroupResponse", "0-5", "4+", """
    throttleTimeMs  int32   1+  ignorable
    errorCode       int16
    protocolType    string  5+  nullable default=null ignorable
    protocolName    string  5+  nullable default=null ignorable
    assignment      bytes
""")  # fmt: skip

HEARTBEAT_REQUEST = message("HeartbeatRequest", "0-4", "4+", """
    groupId          string
    generationId     int32
    memberId         string
    groupInstanceId  string  3+  nullable default=null
""")  # fmt: skip

HEARTBEAT_RESPONSE = message("HeartbeatResponse", "0-4", "4+", """
    throttleTimeMs  int32  1+  ignorable
    errorCode       int16
""")  # fmt: skip

LEAVE_GROUP_REQUEST = message("LeaveGroupRequest", "0-5", "4+", """
    groupId   string
    memberId  string            0-2
    members   []MemberIdentity  3+
        memberId         string  3+
        groupInstanceId  string  3+  nullable default=null
        reason           string  5+  nullable default=null ignorable
""")  # fmt: skip

LEAVE_GROUP_RESPONSE = message("LeaveGroupResponse", "0-5", "4+", """
    throttleTimeMs  int32             1+  ignorable
    errorCode       int16
    members         []MemberResponse  3+
        memberId         string  3+
        groupInstanceId  string  3+  nullable
        errorCode        int16   3+
""")  # fmt: skip

DESCRIBE_GROUPS_REQUEST = message("DescribeGroupsRequest", "0-6", "5+", """
    groups                       []string
    includeAuthorizedOperations  bool      3+
""")  # fmt: skip

DESCRIBE_GROUPS_RESPONSE = message("DescribeGroupsResponse", "0-6", "5+", """
    throttleTimeMs  int32             1+  ignorable
    groups          []DescribedGroup
        errorCode             int16
        errorMessage          string                  6+  nullable default=null
        groupId               string
        groupState            string
        protocolType          string
        protocolData          string
        members               []DescribedGroupMember
            memberId          string
            groupInstanceId   string  4+  nullable default=null ignorable
            clientId          string
            clientHost        string
            memberMetadata    bytes
            memberAssignment  bytes
        authorizedOperations  int32                   3+  default=-2147483648
""")  # fmt: skip

LIST_GROUPS_REQUEST = message("ListGroupsRequest", "0-5", "3+", """
    statesFilter  []string  4+
    typesFilter   []string  5+
""")  # fmt: skip

LIST_GROUPS_RESPONSE = message("ListGroupsResponse", "0-5", "3+", """
    throttleTimeMs  int32          1+  ignorable
    errorCode       int16
    groups          []ListedGroup
        groupId       string
        protocolType  string
        groupState    string  4+  ignorable
        groupType     string  5+  ignorable
""")  # fmt: skip

DELETE_GROUPS_REQUEST = message("DeleteGroupsRequest", "0-2", "2+", """
    groupsNames  []string
""")  # fmt: skip

DELETE_GROUPS_RESPONSE = message("DeleteGroupsResponse", "0-2", "2+", """
    throttleTimeMs  int32
    results         []DeletableGroupResult
        groupId    string
        errorCode  int16
""")  # fmt: skip

CONSUMER_GROUP_HEARTBEAT_REQUEST = message("ConsumerGroupHeartbeatRequest", "0-1", "0+", """
    groupId               string
    memberId              string
    memberEpoch           int32
    instanceId            string                 nullable default=null
    rackId                string                 nullable default=null
    rebalanceTimeoutMs    int32                  default=-1
    subscribedTopicNames  []string               nullable default=null
    subscribedTopicRegex  string             1+  nullable default=null
    serverAssignor        string                 nullable default=null
    topicPartitions       []TopicPartitions      nullable default=null
        topicId     uuid
        partitions  []int32
""")  # fmt: skip

CONSUMER_GROUP_HEARTBEAT_RESPONSE = message("ConsumerGroupHeartbeatResponse", "0-1", "0+", """
    throttleTimeMs       int32
    errorCode            int16
    errorMessage         string      nullable default=null
    memberId             string      nullable default=null
    memberEpoch          int32
    heartbeatIntervalMs  int32
    assignment           Assignment  nullable default=null
        topicPartitions  []TopicPartitions
            topicId     uuid
            partitions  []int32
""")  # fmt: skip

CONSUMER_GROUP_DESCRIBE_REQUEST = message("ConsumerGroupDescribeRequest", "0-1", "0+", """
    groupIds                     []string
    includeAuthorizedOperations  bool
""")  # fmt: skip

CONSUMER_GROUP_DESCRIBE_RESPONSE = message("ConsumerGroupDescribeResponse", "0-1", "0+", """
    throttleTimeMs  int32
    groups          []DescribedGroup
        errorCode             int16
        errorMessage          string    nullable default=null
        groupId               string
        groupState            string
        groupEpoch            int32
        assignmentEpoch       int32
        assignorName          string
        members               []Member
            memberId              string
            instanceId            string      nullable default=null
            rackId                string      nullable default=null
            memberEpoch           int32
            clientId              string
            clientHost            string
            subscribedTopicNames  []string
            subscribedTopicRegex  string      nullable default=null
            assignment            Assignment
                topicPartitions  []TopicPartitions
                    topicId     uuid
                    topicName   string
                    partitions  []int32
            targetAssignment      Assignment
            memberType            int8        1+  default=-1 ignorable
        authorizedOperations  int32     default=-2147483648
""")  # fmt: skip
