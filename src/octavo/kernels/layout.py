"""What the compiled kernels, their plain-Python twins and `format` agree on.

It declares the byte layouts of batches and messages, the table that a walk fills, and the codes with which loops end.
The compiled side repeats them in C (`layout.pxd`); a test compares the two.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from struct import Struct
from typing import TYPE_CHECKING

from octavo.kernels.integers import INT32_MAX

if TYPE_CHECKING:
    import numpy as np

MAX_FILE_BYTES = INT32_MAX  # positions in a log file are int32


def big_endian(fields: dict[str, str]) -> Struct:
    """The struct of consecutive fields, given as Kafka's name → format character."""
    return Struct(">" + "".join(fields.values()))


# Every log entry begins with these two fields, whatever its magic: its offset, and the size of the rest.
ENTRY_PREFIX = Struct(">qi")
LOG_OVERHEAD = ENTRY_PREFIX.size
SIZE_POSITION = 8
MAGIC_POSITION = 16
HEADER_UP_TO_MAGIC = 17

# v2. The records follow, as one compressed stream if the attributes name a codec.
BATCH_FIELDS = {
    "baseOffset": "q",
    "batchLength": "i",
    "partitionLeaderEpoch": "i",
    "magic": "b",
    "crc": "I",
    "attributes": "h",
    "lastOffsetDelta": "i",
    "baseTimestamp": "q",
    "maxTimestamp": "q",
    "producerId": "q",
    "producerEpoch": "h",
    "baseSequence": "i",
    "recordsCount": "i",
}
BATCH_HEADER = big_endian(BATCH_FIELDS)
BATCH_OVERHEAD = BATCH_HEADER.size
PARTITION_LEADER_EPOCH_POSITION = 12
CRC_POSITION = 17
ATTRIBUTES_POSITION = 21  # the CRC covers from here to the end
LAST_OFFSET_DELTA_POSITION = 23
BASE_TIMESTAMP_POSITION = 27
MAX_TIMESTAMP_POSITION = 35
PRODUCER_ID_POSITION = 43
PRODUCER_EPOCH_POSITION = 51
BASE_SEQUENCE_POSITION = 53
RECORDS_COUNT_POSITION = 57

# v0 and v1. Key and value follow, each after an int32 length.
MESSAGE_V0_FIELDS = {"offset": "q", "size": "i", "crc": "I", "magic": "b", "attributes": "b"}
MESSAGE_V1_FIELDS = {**MESSAGE_V0_FIELDS, "timestamp": "q"}
MESSAGE_V0 = big_endian(MESSAGE_V0_FIELDS)
MESSAGE_V1 = big_endian(MESSAGE_V1_FIELDS)
MESSAGE_V0_OVERHEAD = MESSAGE_V0.size
MESSAGE_V1_OVERHEAD = MESSAGE_V1.size
MESSAGE_CRC_POSITION = 12
MESSAGE_MAGIC_POSITION = 16  # the CRC covers from here to the end
MESSAGE_ATTRIBUTES_POSITION = 17
MESSAGE_TIMESTAMP_POSITION = 18
MIN_MESSAGE_SIZE = 14  # Kafka applies v0's minimum to v1 messages too
MIN_RECORD_BYTES = 7  # length, attributes, two deltas, two lengths, header count: one byte each
MAX_RECORD_GROWTH = 14  # of a record that compaction rewrites: nine bytes for a timestamp, the rest for its length
MAX_RECORD_OVERHEAD = 21  # the longest length, attributes and two deltas, which Kafka adds for its upper bound

CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
MAX_PRODUCER_EPOCH = 2**15 - 1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1

# One row per batch. A v0/v1 message is a row too: base_offset is its own offset (for a wrapper, that of its last
# message), both timestamps are its timestamp (-1 in v0), count is 1 (-1 for a wrapper, whose count is unknown until it
# is opened), the leader epoch and the producer fields are -1.
BATCH_COLUMNS = {
    "position": "i8",
    "base_offset": "i8",
    "base_timestamp": "i8",
    "max_timestamp": "i8",
    "producer_id": "i8",
    "size": "i4",  # the whole entry, including its first 12 bytes
    "partition_leader_epoch": "i4",
    "crc": "u4",
    "last_offset_delta": "i4",
    "base_sequence": "i4",
    "count": "i4",
    "attributes": "i2",
    "producer_epoch": "i2",
    "magic": "i1",
    "flaws": "u1",
    "reserved": "u2",
}
_FORMS = {"i8": "q", "i4": "i", "u4": "I", "i2": "h", "u2": "H", "i1": "b", "u1": "B"}
BATCH_ROW = Struct("<" + "".join(_FORMS[kind] for kind in BATCH_COLUMNS.values()))

if TYPE_CHECKING:
    BATCH: np.dtype[np.void]


def __getattr__(name: str) -> object:
    """Make `BATCH`, a numpy dtype, at its first use: importing numpy takes longer than a small dump."""
    if name != "BATCH":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import numpy as np

    dtype = np.dtype([(column, f"<{kind}") for column, kind in BATCH_COLUMNS.items()])
    globals()["BATCH"] = dtype
    return dtype


# The summary of a table's batches: bits that any batch has, extremes, conditions, the first and the last batch.
BATCH_SUMMARY = (
    "flaws",
    "attributes",
    "max_codec",
    "max_size",
    "max_timestamp",
    "min_epoch",
    "max_epoch",
    "min_magic",
    "from_zero",  # all base offsets are 0
    "ascending",  # last offsets are 0 or more, and each is above the previous one
    "produced",  # all headers are valid for a producer
    "with_producers",  # at least one batch has a producer id
    "first_magic",
    "first_base_offset",
    "first_last_offset",
    "last_offset",
    "end",  # the position after the last batch
)

# What the rule for index entries remembers about a segment, one int64 each.
INDEX_COUNTERS = (
    "base_offset",
    "bytes_since_last_entry",
    "max_timestamp",
    "max_timestamp_offset",  # the last offset of the first batch with that timestamp
    "last_entry_offset",  # in the offset index
    "last_entry_timestamp",  # in the time index
)


class Flaw(IntFlag):
    """What a walk found wrong, or did not check, in a batch whose length it could follow. 0 means a sound batch."""

    CRC_MISMATCH = 1
    TOO_SHORT = 2  # magic 2 or above, but shorter than its header: its other fields are meaningless
    UNKNOWN_MAGIC = 4  # read by Kafka's rule: below 2 as a message, above as a batch
    UNCHECKED = 8  # the walk did not compute the CRC


BROKEN = int(Flaw.CRC_MISMATCH | Flaw.TOO_SHORT)  # the log cannot be followed past such a batch


class Stop(IntEnum):
    """Why a walk ended."""

    TABLE_FULL = 0  # continue from there with an empty table
    END = 1
    INCOMPLETE_HEADER = 2  # 1 to 17 bytes are left
    INCOMPLETE_BATCH = 3  # the batch extends beyond the end
    SIZE_TOO_SMALL = 4  # a length below 14: garbage, or the zeros of a preallocated file


class Kind(IntEnum):
    """How a batch has to be decoded; neighbours of one kind are decoded together."""

    PLAIN = 0
    PACKED = 1
    MESSAGE = 2
    WRAPPER = 3
    UNREADABLE = 4  # damaged: its records cannot be found


class Column(IntFlag):
    """The columns that a decode builds; without any, it only checks the records."""

    OFFSET = 1
    TIMESTAMP = 2
    KEY = 4
    VALUE = 8
    HEADERS = 16
    STORED_TIMESTAMP = 32  # with TIMESTAMP: as stored, even if LogAppendTime overrides it
    ALL = OFFSET | TIMESTAMP | KEY | VALUE | HEADERS


class Code(IntEnum):
    """How a decode or an encode ended."""

    DONE = 0
    FULL = 1  # an output buffer is too small: everything before the returned batch is complete
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
    DELTA_OUT_OF_RANGE = 20  # encode: an offset too far from the base offset for an int32 delta


class Refused(IntEnum):
    """Why a record was not added to an open batch; a value of 0 or more is the number of an added record."""

    NO_ROOM = -1  # the batch is closed, or has no room for this record
    SHORT_BUFFER = -2  # the limit allows it, but the buffer must be enlarged first
    TOO_LARGE = -3  # it may exceed the allowed bytes even alone in a batch


class Seek(IntEnum):
    """How the search for a batch or a record ended."""

    FOUND = 0
    MORE = 1  # continue at the position; the size is that of the batch there, 0 if unknown
    DECODE = 2  # the batch at the position is compressed, in an old format, or broken


# What a kernel that reads records returns: code, next batch (0 for messages), position of the problem, value found.
Outcome = tuple[int, int, int, int]
