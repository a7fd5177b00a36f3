"""The C side of `producers.py`: its rows, how a replay ends, and `ProducerArrays` as pointers."""

from octavo.kernels.compiled.buffers cimport *
from octavo.kernels.compiled.layout cimport *


cdef enum:
    CACHED_BATCHES = 5
    NONE = -1

cdef enum Replayed:
    NOT_TRANSACTIONAL = 2  # DONE and FULL have the values of `Code`
    MARKER_MISSING = 3


cdef struct CachedBatch:
    int64_t last_offset
    int64_t timestamp
    int32_t last_sequence
    int32_t offset_delta


cdef struct Producer:
    int64_t producer_id
    int64_t last_timestamp
    int64_t current_txn_first_offset
    CachedBatch batches[5]
    int32_t coordinator_epoch
    int16_t epoch
    uint8_t batch_count
    uint8_t next_batch


cdef struct Ongoing:
    int64_t first_offset
    int64_t producer_id


cdef struct Marker:
    int64_t producer_id
    int64_t offset
    int64_t timestamp
    int64_t first_offset
    int64_t last_stable_offset
    int32_t coordinator_epoch
    int32_t type


cdef struct Producers:
    Producer *entries
    int32_t *slots
    Ongoing *ongoing
    int64_t capacity
    int64_t count
    int64_t ongoing_count
    uint64_t mask  # of the slots
    int shift  # shifts a hash to the number of a slot
