"""Makes the index entries for batches, as appends and recovery do."""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize

from octavo.kernels.compiled.buffers cimport *
from octavo.kernels.compiled.layout cimport *


cdef enum:
    OFFSET_ENTRY_BYTES = 8
    TIME_ENTRY_BYTES = 12
    MAX_INT32 = 2147483647


cdef struct Counters:
    int64_t base_offset
    int64_t bytes_since_last_entry
    int64_t max_timestamp
    int64_t max_timestamp_offset
    int64_t last_entry_offset
    int64_t last_entry_timestamp


cdef struct Entries:
    uint8_t *bytes
    int64_t room
    int64_t count


cdef inline bint fits(uint64_t number) noexcept nogil:
    """Whether a difference, in Java's arithmetic, is a non-negative int32."""
    return number <= MAX_INT32


cdef inline uint64_t relative(const Counters *counters, int64_t offset) noexcept nogil:
    return <uint64_t>offset - <uint64_t>counters.base_offset


cdef void index_batch(Counters *counters, const Batch *batch, int64_t position, int64_t interval_bytes,
                      Entries *offsets, Entries *times) noexcept nogil:
    cdef int64_t last_offset = <int64_t>(<uint64_t>batch.base_offset + <uint64_t><int64_t>batch.last_offset_delta)
    cdef uint8_t *entry
    if batch.max_timestamp > counters.max_timestamp:
        counters.max_timestamp, counters.max_timestamp_offset = batch.max_timestamp, last_offset
    if counters.bytes_since_last_entry > interval_bytes:
        if (offsets.count < offsets.room and last_offset > counters.last_entry_offset
                and fits(relative(counters, last_offset)) and fits(<uint64_t>position)):
            entry = offsets.bytes + offsets.count * OFFSET_ENTRY_BYTES
            store_be32(entry, <uint32_t>relative(counters, last_offset))
            store_be32(entry + 4, <uint32_t>position)
            counters.last_entry_offset = last_offset
            offsets.count += 1
        if (times.count < times.room and counters.max_timestamp > counters.last_entry_timestamp
                and fits(relative(counters, counters.max_timestamp_offset))):
            entry = times.bytes + times.count * TIME_ENTRY_BYTES
            store_be64(entry, <uint64_t>counters.max_timestamp)
            store_be32(entry + 8, <uint32_t>relative(counters, counters.max_timestamp_offset))
            counters.last_entry_timestamp = counters.max_timestamp
            times.count += 1
        counters.bytes_since_last_entry = 0
    counters.bytes_since_last_entry += batch.size


def index_batches(table, int64_t position, int64_t interval_bytes, counters, int64_t offset_room, int64_t time_room):
    """Make the entries of both indexes for consecutive batches from `position` on.

    `counters` (six int64, see `layout.INDEX_COUNTERS`) are updated. Entries beyond the room (a number of entries) are
    left out, and so are those whose offset (in a time index, timestamp) is not above the last entry's, and those whose
    relative offset or position does not fit into an entry.
    """
    cdef Py_buffer views[2]
    cdef const Batch *batches
    cdef Counters *state
    cdef Entries offsets, times
    cdef Py_ssize_t i, count
    cdef int pinned = 0
    cdef bytes offset_entries, time_entries
    try:
        for buffer, flags in ((table, PyBUF_SIMPLE), (counters, PyBUF_WRITABLE)):
            pin_buffer(views, &pinned, buffer, flags)
        batches, count = <const Batch *>views[0].buf, views[0].len // sizeof(Batch)
        if views[1].len != sizeof(Counters):
            raise ValueError(f"counters of {views[1].len} bytes, expected {sizeof(Counters)}")
        state = <Counters *>views[1].buf
        offset_room, time_room = max(min(offset_room, count), 0), max(min(time_room, count), 0)
        offset_entries = PyBytes_FromStringAndSize(NULL, offset_room * OFFSET_ENTRY_BYTES)
        time_entries = PyBytes_FromStringAndSize(NULL, time_room * TIME_ENTRY_BYTES)
        offsets = Entries(<uint8_t *>PyBytes_AsString(offset_entries), offset_room, 0)
        times = Entries(<uint8_t *>PyBytes_AsString(time_entries), time_room, 0)
        with nogil:
            for i in range(count):
                index_batch(state, &batches[i], position, interval_bytes, &offsets, &times)
                position += batches[i].size
    finally:
        release_buffers(views, &pinned)
    return offset_entries[:offsets.count * OFFSET_ENTRY_BYTES], time_entries[:times.count * TIME_ENTRY_BYTES]
