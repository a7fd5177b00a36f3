"""The records of `__cluster_metadata` and its snapshots: brokers, topics, partitions, configs, features, quotas, ACLs.

Ids 6, 13 and 16 have no schema: Kafka 4.3.1 does not know them either.
"""

from __future__ import annotations

from octavo.format.messages.records import MetadataRecord, by_id, decode_metadata, metadata_type
from octavo.format.varint import Bytes

METADATA_TYPES = by_id(
    metadata_type(0, "RegisterBrokerRecord", "0-4", """
        brokerId              int32
        isMigratingZkBroker   bool    2+
        incarnationId         uuid
        brokerEpoch           int64
        endPoints             []BrokerEndpoint
            name              string
            host              string
            port              uint16
            securityProtocol  int16
        features              []BrokerFeature
            name                 string
            minSupportedVersion  int16
            maxSupportedVersion  int16
        rack                  string  nullable
        fenced                bool    default=true
        inControlledShutdown  bool    1+
        logDirs               []uuid  3+  tag=0
        cordonedLogDirs       []uuid  4+  nullable tag=1 default=null
    """),
    metadata_type(1, "UnregisterBrokerRecord", "0", """
        brokerId     int32
        brokerEpoch  int64
    """),
    metadata_type(2, "TopicRecord", "0", """
        name     string
        topicId  uuid
    """),
    metadata_type(3, "PartitionRecord", "0-2", """
        partitionId             int32    default=-1
        topicId                 uuid
        replicas                []int32
        isr                     []int32
        removingReplicas        []int32
        addingReplicas          []int32
        leader                  int32    default=-1
        leaderRecoveryState     int8     tag=0
        leaderEpoch             int32    default=-1
        partitionEpoch          int32    default=-1
        directories             []uuid   1+
        eligibleLeaderReplicas  []int32  2+  nullable tag=1 default=null
        lastKnownElr            []int32  2+  nullable tag=2 default=null
    """),
    metadata_type(4, "ConfigRecord", "0", """
        resourceType  int8
        resourceName  string
        name          string
        value         string  nullable
    """),
    metadata_type(5, "PartitionChangeRecord", "0-2", """
        partitionId             int32    default=-1
        topicId                 uuid
        isr                     []int32  nullable tag=0 default=null
        leader                  int32    tag=1 default=-2
        replicas                []int32  nullable tag=2 default=null
        removingReplicas        []int32  nullable tag=3 default=null
        addingReplicas          []int32  nullable tag=4 default=null
        leaderRecoveryState     int8     tag=5 default=-1
        directories             []uuid   1+  nullable tag=8 default=null
        eligibleLeaderReplicas  []int32  2+  nullable tag=6 default=null
        lastKnownElr            []int32  2+  nullable tag=7 default=null
    """),
    metadata_type(7, "FenceBrokerRecord", "0", """
        id     int32
        epoch  int64
    """),
    metadata_type(8, "UnfenceBrokerRecord", "0", """
        id     int32
        epoch  int64
    """),
    metadata_type(9, "RemoveTopicRecord", "0", "topicId  uuid"),
    metadata_type(10, "DelegationTokenRecord", "0", """
        owner                string
        requester            string
        renewers             []string
        issueTimestamp       int64
        maxTimestamp         int64
        expirationTimestamp  int64
        tokenId              string
    """),
    metadata_type(11, "UserScramCredentialRecord", "0", """
        name        string
        mechanism   int8
        salt        bytes
        storedKey   bytes
        serverKey   bytes
        iterations  int32
    """),
    metadata_type(12, "FeatureLevelRecord", "0", """
        name          string
        featureLevel  int16
    """),
    metadata_type(14, "ClientQuotaRecord", "0", """
        entity  []EntityData
            entityType  string
            entityName  string  nullable
        key     string
        value   float64
        remove  bool
    """),
    metadata_type(15, "ProducerIdsRecord", "0", """
        brokerId        int32
        brokerEpoch     int64  default=-1
        nextProducerId  int64
    """),
    metadata_type(17, "BrokerRegistrationChangeRecord", "0-3", """
        brokerId              int32
        brokerEpoch           int64
        fenced                int8    tag=0
        inControlledShutdown  int8    1+  tag=1
        logDirs               []uuid  2+  tag=2
        cordonedLogDirs       []uuid  3+  nullable tag=3 default=null
    """),
    metadata_type(18, "AccessControlEntryRecord", "0", """
        id              uuid
        resourceType    int8
        resourceName    string
        patternType     int8
        principal       string
        host            string
        operation       int8
        permissionType  int8
    """),
    metadata_type(19, "RemoveAccessControlEntryRecord", "0", "id  uuid"),
    metadata_type(20, "NoOpRecord", "0", ""),
    metadata_type(21, "ZkMigrationStateRecord", "0", "zkMigrationState  int8"),
    metadata_type(22, "RemoveUserScramCredentialRecord", "0", """
        name       string
        mechanism  int8
    """),
    metadata_type(23, "BeginTransactionRecord", "0", "name  string  nullable tag=0 default=null"),
    metadata_type(24, "EndTransactionRecord", "0", ""),
    metadata_type(25, "AbortTransactionRecord", "0", "reason  string  nullable tag=0 default=null"),
    metadata_type(26, "RemoveDelegationTokenRecord", "0", "tokenId  string"),
    metadata_type(27, "RegisterControllerRecord", "0", """
        controllerId      int32
        incarnationId     uuid
        zkMigrationReady  bool
        endPoints         []ControllerEndpoint
            name              string
            host              string
            port              uint16
            securityProtocol  int16
        features          []ControllerFeature
            name                 string
            minSupportedVersion  int16
            maxSupportedVersion  int16
    """),
    metadata_type(28, "ClearElrRecord", "0", "topicName  string"),
)  # fmt: skip


def decode_metadata_record(value: Bytes) -> MetadataRecord:
    """Decode a value of `__cluster_metadata`; the keys there are null."""
    return decode_metadata(METADATA_TYPES, value)
