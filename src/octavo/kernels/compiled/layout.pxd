"""The C side of `layout.py`: the row of the batch table, the positions of fields, the codes."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t


cdef struct Batch:
    int64_t position
    int64_t base_offset
    int64_t base_timestamp
    int64_t max_timestamp
    int64_t producer_id
    int32_t size
    int32_t partition_leader_epoch
    uint32_t crc
    int32_t last_offset_delta
    int32_t base_sequence
    int32_t count
    int16_t attributes
    int16_t producer_epoch
    int8_t magic
    uint8_t flaws
    uint16_t reserved


cdef enum:
    MAX_FILE_BYTES = 2147483647
    LOG_OVERHEAD = 12
    SIZE_POSITION = 8
    MAGIC_POSITION = 16
    HEADER_UP_TO_MAGIC = 17
    BATCH_OVERHEAD = 61
    PARTITION_LEADER_EPOCH_POSITION = 12
    CRC_POSITION = 17
    ATTRIBUTES_POSITION = 21
    LAST_OFFSET_DELTA_POSITION = 23
    BASE_TIMESTAMP_POSITION = 27
    MAX_TIMESTAMP_POSITION = 35
    PRODUCER_ID_POSITION = 43
    PRODUCER_EPOCH_POSITION = 51
    BASE_SEQUENCE_POSITION = 53
    RECORDS_COUNT_POSITION = 57
    MESSAGE_V0_OVERHEAD = 18
    MESSAGE_V1_OVERHEAD = 26
    MESSAGE_CRC_POSITION = 12
    MESSAGE_MAGIC_POSITION = 16
    MESSAGE_ATTRIBUTES_POSITION = 17
    MESSAGE_TIMESTAMP_POSITION = 18
    MIN_MESSAGE_SIZE = 14
    MIN_RECORD_BYTES = 7
    MAX_RECORD_GROWTH = 14
    MAX_RECORD_OVERHEAD = 21
    CODEC_MASK = 0x07
    LOG_APPEND_TIME = 0x08
    TRANSACTIONAL = 0x10
    CONTROL = 0x20
    DELETE_HORIZON = 0x40

cdef enum Flaw:
    CRC_MISMATCH = 1
    TOO_SHORT = 2
    UNKNOWN_MAGIC = 4
    UNCHECKED = 8

cdef enum Stop:
    TABLE_FULL = 0
    END = 1
    INCOMPLETE_HEADER = 2
    INCOMPLETE_BATCH = 3
    SIZE_TOO_SMALL = 4

cdef enum Kind:
    PLAIN = 0
    PACKED = 1
    MESSAGE = 2
    WRAPPER = 3
    UNREADABLE = 4

cdef enum Column:
    OFFSET = 1
    TIMESTAMP = 2
    KEY = 4
    VALUE = 8
    HEADERS = 16
    STORED_TIMESTAMP = 32

cdef enum Code:
    DONE = 0
    FULL = 1
    BROKEN_VARINT = 2
    RECORD_BEYOND_END = 3
    RECORD_LENGTH_MISMATCH = 4
    KEY_BEYOND_RECORD = 5
    VALUE_BEYOND_RECORD = 6
    NEGATIVE_HEADER_COUNT = 7
    TOO_MANY_HEADERS = 8
    NEGATIVE_HEADER_KEY = 9
    HEADER_BEYOND_RECORD = 10
    TRAILING_BYTES = 11
    NEGATIVE_COUNT = 12
    TOO_MANY_RECORDS = 13
    MESSAGE_TOO_SMALL = 14
    MESSAGE_CRC_MISMATCH = 15
    NESTED_COMPRESSION = 16
    EMPTY_MESSAGE_SET = 17
    OFFSET_BELOW_INNER = 18
    FIELD_BEYOND_MESSAGE = 19
    DELTA_OUT_OF_RANGE = 20

cdef enum Refused:
    NO_ROOM = -1
    SHORT_BUFFER = -2
    TOO_LARGE = -3

cdef enum Seek:
    FOUND = 0
    MORE = 1
    DECODE = 2


cdef struct Problem:
    int code
    int64_t position
    int64_t found


cdef inline int fail(Problem *problem, int code, int64_t position, int64_t found) noexcept nogil:
    problem.code = code
    problem.position = position
    problem.found = found
    return code
