"""Schemas for creating, extending and deleting topics."""

from __future__ import annotations

from octavo.format.messages.notation import message

CREATE_TOPICS_REQUEST = message("CreateTopicsRequest", "2-7", "5+", """
    topics        []CreatableTopic
        name               string
        numPartitions      int32
        replicationFactor  int16
        assignments        []CreatableReplicaAssignment
            partitionIndex  int32
            brokerIds       []int32
        configs            []CreatableTopicConfig
            name   string
            value  string       nullable
    timeoutMs     int32                  default=60000
    validateOnly  bool              1+
""")  # fmt: skip

CREATE_TOPICS_RESPONSE = message("CreateTopicsResponse", "2-7", "5+", """
    throttleTimeMs  int32                   2+   ignorable
    topics          []CreatableTopicResult
        name                  string
        topicId               uuid                     7+   ignorable
        errorCode             int16
        errorMessage          string                   1+   nullable=0+ ignorable
        topicConfigErrorCode  int16                    5+   tag=0 ignorable
        numPartitions         int32                    5+   default=-1 ignorable
        replicationFactor     int16                    5+   default=-1 ignorable
        configs               []CreatableTopicConfigs  5+   nullable ignorable
            name          string  5+
            value         string  5+   nullable
            readOnly      bool    5+
            configSource  int8    5+   default=-1 ignorable
            isSensitive   bool    5+
""")  # fmt: skip

DELETE_TOPICS_REQUEST = message("DeleteTopicsRequest", "1-6", "4+", """
    topics      []DeleteTopicState  6+
        name     string  6+   nullable default=null
        topicId  uuid    6+
    topicNames  []string            0-5  ignorable
    timeoutMs   int32
""")  # fmt: skip

DELETE_TOPICS_RESPONSE = message("DeleteTopicsResponse", "1-6", "4+", """
    throttleTimeMs  int32                   1+   ignorable
    responses       []DeletableTopicResult
        name          string       nullable=6+
        topicId       uuid    6+   ignorable
        errorCode     int16
        errorMessage  string  5+   nullable default=null ignorable
""")  # fmt: skip

CREATE_PARTITIONS_REQUEST = message("CreatePartitionsRequest", "0-3", "2+", """
    topics        []CreatePartitionsTopic
        name         string
        count        int32
        assignments  []CreatePartitionsAssignment       nullable
            brokerIds  []int32
    timeoutMs     int32
    validateOnly  bool
""")  # fmt: skip

CREATE_PARTITIONS_RESPONSE = message("CreatePartitionsResponse", "0-3", "2+", """
    throttleTimeMs  int32
    results         []CreatePartitionsTopicResult
        name          string
        errorCode     int16
        errorMessage  string       nullable default=null
""")  # fmt: skip
