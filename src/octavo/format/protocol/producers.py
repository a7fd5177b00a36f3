"""Schemas for producer ids, and for what partitions know about producers."""

from __future__ import annotations

from octavo.format.messages.notation import message

INIT_PRODUCER_ID_REQUEST = message("InitProducerIdRequest", "0-6", "2+", """
    transactionalId       string       nullable
    transactionTimeoutMs  int32
    producerId            int64   3+   default=-1
    producerEpoch         int16   3+   default=-1
    enable2Pc             bool    6+
    keepPreparedTxn       bool    6+
""")  # fmt: skip

INIT_PRODUCER_ID_RESPONSE = message("InitProducerIdResponse", "0-6", "2+", """
    throttleTimeMs           int32       ignorable
    errorCode                int16
    producerId               int64       default=-1
    producerEpoch            int16
    ongoingTxnProducerId     int64  6+   default=-1
    ongoingTxnProducerEpoch  int16  6+   default=-1
""")  # fmt: skip

DESCRIBE_PRODUCERS_REQUEST = message("DescribeProducersRequest", "0", "0+", """
    topics  []TopicRequest
        name              string
        partitionIndexes  []int32
""")  # fmt: skip

DESCRIBE_PRODUCERS_RESPONSE = message("DescribeProducersResponse", "0", "0+", """
    throttleTimeMs  int32
    topics          []TopicResponse
        name        string
        partitions  []PartitionResponse
            partitionIndex   int32
            errorCode        int16
            errorMessage     string                nullable default=null
            activeProducers  []ProducerState
                producerId             int64
                producerEpoch          int32
                lastSequence           int32       default=-1
                lastTimestamp          int64       default=-1
                coordinatorEpoch       int32
                currentTxnStartOffset  int64       default=-1
""")  # fmt: skip
