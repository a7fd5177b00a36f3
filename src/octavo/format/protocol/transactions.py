"""Schemas for transactions: their partitions, offsets, ends and markers, and descriptions."""

from __future__ import annotations

from octavo.format.messages.notation import message

ADD_PARTITIONS_TO_TXN_REQUEST = message("AddPartitionsToTxnRequest", "0-5", "3+", """
    transactions               []AddPartitionsToTxnTransaction  4+
        transactionalId  string                     4+
        producerId       int64                      4+
        producerEpoch    int16                      4+
        verifyOnly       bool                       4+  default=false
        topics           []AddPartitionsToTxnTopic  4+
            name        string
            partitions  []int32
    v3AndBelowTransactionalId  string                           0-3
    v3AndBelowProducerId       int64                            0-3
    v3AndBelowProducerEpoch    int16                            0-3
    v3AndBelowTopics           []AddPartitionsToTxnTopic        0-3
""")  # fmt: skip

ADD_PARTITIONS_TO_TXN_RESPONSE = message("AddPartitionsToTxnResponse", "0-5", "3+", """
    throttleTimeMs            int32
    errorCode                 int16                            4+   ignorable
    resultsByTransaction      []AddPartitionsToTxnResult       4+
        transactionalId  string                           4+
        topicResults     []AddPartitionsToTxnTopicResult  4+
            name                string
            resultsByPartition  []AddPartitionsToTxnPartitionResult
                partitionIndex      int32
                partitionErrorCode  int16
    resultsByTopicV3AndBelow  []AddPartitionsToTxnTopicResult  0-3
""")  # fmt: skip

ADD_OFFSETS_TO_TXN_REQUEST = message("AddOffsetsToTxnRequest", "0-4", "3+", """
    transactionalId  string
    producerId       int64
    producerEpoch    int16
    groupId          string
""")  # fmt: skip

ADD_OFFSETS_TO_TXN_RESPONSE = message("AddOffsetsToTxnResponse", "0-4", "3+", """
    throttleTimeMs  int32
    errorCode       int16
""")  # fmt: skip

END_TXN_REQUEST = message("EndTxnRequest", "0-5", "3+", """
    transactionalId  string
    producerId       int64
    producerEpoch    int16
    committed        bool
""")  # fmt: skip

END_TXN_RESPONSE = message("EndTxnResponse", "0-5", "3+", """
    throttleTimeMs  int32
    errorCode       int16
    producerId      int64  5+  default=-1 ignorable
    producerEpoch   int16  5+  default=-1 ignorable
""")  # fmt: skip

WRITE_TXN_MARKERS_REQUEST = message("WriteTxnMarkersRequest", "1-2", "1+", """
    markers  []WritableTxnMarker
        producerId         int64
        producerEpoch      int16
        transactionResult  bool
        topics             []WritableTxnMarkerTopic
            name              string
            partitionIndexes  []int32
        coordinatorEpoch   int32
        transactionVersion  int8  2+  ignorable
""")  # fmt: skip

WRITE_TXN_MARKERS_RESPONSE = message("WriteTxnMarkersResponse", "1-2", "1+", """
    markers  []WritableTxnMarkerResult
        producerId  int64
        topics      []WritableTxnMarkerTopicResult
            name        string
            partitions  []WritableTxnMarkerPartitionResult
                partitionIndex  int32
                errorCode       int16
""")  # fmt: skip

DESCRIBE_TRANSACTIONS_REQUEST = message("DescribeTransactionsRequest", "0", "0+", """
    transactionalIds  []string
""")  # fmt: skip

DESCRIBE_TRANSACTIONS_RESPONSE = message("DescribeTransactionsResponse", "0", "0+", """
    throttleTimeMs     int32
    transactionStates  []TransactionState
        errorCode               int16
        transactionalId         string
        transactionState        string
        transactionTimeoutMs    int32
        transactionStartTimeMs  int64
        producerId              int64
        producerEpoch           int16
        topics                  []TopicData
            topic       string
            partitions  []int32
""")  # fmt: skip

LIST_TRANSACTIONS_REQUEST = message("ListTransactionsRequest", "0-2", "0+", """
    stateFilters       []string
    producerIdFilters  []int64
    durationFilter     int64     1+  default=-1
    transactionalIdPattern  string  2+  nullable default=null
""")  # fmt: skip

LIST_TRANSACTIONS_RESPONSE = message("ListTransactionsResponse", "0-2", "0+", """
    throttleTimeMs       int32
    errorCode            int16
    unknownStateFilters  []string
    transactionStates    []TransactionState
        transactionalId   string
        producerId        int64
        transactionState  string
""")  # fmt: skip
