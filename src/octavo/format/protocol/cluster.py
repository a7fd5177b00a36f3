"""Schemas for the cluster: API versions, nodes, topics, log directories, leader elections."""

from __future__ import annotations

from octavo.format.messages.notation import message

API_VERSIONS_REQUEST = message("ApiVersionsRequest", "0-4", "3+", """
    clientSoftwareName     string  3+   ignorable
    clientSoftwareVersion  string  3+   ignorable
""")  # fmt: skip

API_VERSIONS_RESPONSE = message("ApiVersionsResponse", "0-4", "3+", """
    errorCode               int16
    apiKeys                 []ApiVersion
        apiKey      int16
        minVersion  int16
        maxVersion  int16
    throttleTimeMs          int32                  1+   ignorable
    supportedFeatures       []SupportedFeatureKey  3+   tag=0 ignorable
        name        string  3+
        minVersion  int16   3+
        maxVersion  int16   3+
    finalizedFeaturesEpoch  int64                  3+   tag=1 default=-1 ignorable
    finalizedFeatures       []FinalizedFeatureKey  3+   tag=2 ignorable
        name             string  3+
        maxVersionLevel  int16   3+
        minVersionLevel  int16   3+
    zkMigrationReady        bool                   3+   tag=3 ignorable
""")  # fmt: skip

METADATA_REQUEST = message("MetadataRequest", "0-13", "9+", """
    topics                              []MetadataRequestTopic       nullable=1+
        topicId  uuid    10+  ignorable
        name     string       nullable=10+
    allowAutoTopicCreation              bool                    4+   default=true
    includeClusterAuthorizedOperations  bool                    8-10
    includeTopicAuthorizedOperations    bool                    8+
""")  # fmt: skip

METADATA_RESPONSE = message("MetadataResponse", "0-13", "9+", """
    throttleTimeMs               int32                     3+   ignorable
    brokers                      []MetadataResponseBroker
        nodeId  int32
        host    string
        port    int32
        rack    string  1+   nullable default=null ignorable
    clusterId                    string                    2+   nullable default=null ignorable
    controllerId                 int32                     1+   default=-1 ignorable
    topics                       []MetadataResponseTopic
        errorCode                  int16
        name                       string                            nullable=12+
        topicId                    uuid                         10+  ignorable
        isInternal                 bool                         1+   ignorable
        partitions                 []MetadataResponsePartition
            errorCode        int16
            partitionIndex   int32
            leaderId         int32
            leaderEpoch      int32    7+   default=-1 ignorable
            replicaNodes     []int32
            isrNodes         []int32
            offlineReplicas  []int32  5+   ignorable
        topicAuthorizedOperations  int32                        8+   default=-2147483648
    clusterAuthorizedOperations  int32                     8-10 default=-2147483648
    errorCode                    int16                     13+  ignorable
""")  # fmt: skip

DESCRIBE_CLUSTER_REQUEST = message("DescribeClusterRequest", "0-2", "0+", """
    includeClusterAuthorizedOperations  bool
    endpointType                        int8  1+   default=1
    includeFencedBrokers                bool  2+
""")  # fmt: skip

DESCRIBE_CLUSTER_RESPONSE = message("DescribeClusterResponse", "0-2", "0+", """
    throttleTimeMs               int32
    errorCode                    int16
    errorMessage                 string                        nullable default=null
    endpointType                 int8                     1+   default=1
    clusterId                    string
    controllerId                 int32                         default=-1
    brokers                      []DescribeClusterBroker
        brokerId  int32
        host      string
        port      int32
        rack      string       nullable default=null
        isFenced  bool    2+
    clusterAuthorizedOperations  int32                         default=-2147483648
""")  # fmt: skip

DESCRIBE_TOPIC_PARTITIONS_REQUEST = message("DescribeTopicPartitionsRequest", "0", "0+", """
    topics                  []TopicRequest
        name  string
    responsePartitionLimit  int32                default=2000
    cursor                  Cursor               nullable default=null
        topicName       string
        partitionIndex  int32
""")  # fmt: skip

DESCRIBE_TOPIC_PARTITIONS_RESPONSE = message("DescribeTopicPartitionsResponse", "0", "0+", """
    throttleTimeMs  int32                                        ignorable
    topics          []DescribeTopicPartitionsResponseTopic
        errorCode                  int16
        name                       string                                           nullable
        topicId                    uuid                                             ignorable
        isInternal                 bool                                             ignorable
        partitions                 []DescribeTopicPartitionsResponsePartition
            errorCode               int16
            partitionIndex          int32
            leaderId                int32
            leaderEpoch             int32         default=-1 ignorable
            replicaNodes            []int32
            isrNodes                []int32
            eligibleLeaderReplicas  []int32       nullable default=null
            lastKnownElr            []int32       nullable default=null
            offlineReplicas         []int32       ignorable
        topicAuthorizedOperations  int32                                            default=-2147483648
    nextCursor      Cursor                                       nullable default=null
        topicName       string
        partitionIndex  int32
""")  # fmt: skip

DESCRIBE_LOG_DIRS_REQUEST = message("DescribeLogDirsRequest", "1-5", "2+", """
    topics  []DescribableLogDirTopic       nullable
        topic       string
        partitions  []int32
""")  # fmt: skip

DESCRIBE_LOG_DIRS_RESPONSE = message("DescribeLogDirsResponse", "1-5", "2+", """
    throttleTimeMs  int32
    errorCode       int16                    3+   ignorable
    results         []DescribeLogDirsResult
        errorCode    int16
        logDir       string
        topics       []DescribeLogDirsTopic
            name        string
            partitions  []DescribeLogDirsPartition
                partitionIndex  int32
                partitionSize   int64
                offsetLag       int64
                isFutureKey     bool
        totalBytes   int64                   4+   default=-1 ignorable
        usableBytes  int64                   4+   default=-1 ignorable
        isCordoned   bool                    5+   ignorable
""")  # fmt: skip

ELECT_LEADERS_REQUEST = message("ElectLeadersRequest", "0-2", "2+", """
    electionType     int8               1+
    topicPartitions  []TopicPartitions       nullable
        topic       string
        partitions  []int32
    timeoutMs        int32                   default=60000
""")  # fmt: skip

ELECT_LEADERS_RESPONSE = message("ElectLeadersResponse", "0-2", "2+", """
    throttleTimeMs          int32
    errorCode               int16                    1+
    replicaElectionResults  []ReplicaElectionResult
        topic            string
        partitionResult  []PartitionResult
            partitionId   int32
            errorCode     int16
            errorMessage  string       nullable
""")  # fmt: skip
