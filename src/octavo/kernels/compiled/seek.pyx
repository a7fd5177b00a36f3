"""Searches the slots of an index; finds the first batch that reaches an offset or a timestamp, and the first record
that reaches a timestamp."""

from octavo.kernels.compiled.buffers cimport *
from octavo.kernels.compiled.layout cimport *
from octavo.kernels.compiled.varint cimport *


cdef inline int64_t slot_value(const uint8_t *p, int width) noexcept nogil:
    return <int64_t>load_be64(p) if width == 8 else <int32_t>load_be32(p)


def last_slot_up_to(data, int entry_bytes, int position, int width, int64_t target):
    """The last slot whose number is not above the target, or -1 if there is none; slots must ascend.

    Each entry has `entry_bytes` bytes, with its number at `position`, `width` (4 or 8) bytes wide. If slots do not
    ascend, the search still terminates, at some slot.
    """
    cdef Py_buffer view
    cdef const uint8_t *base
    cdef Py_ssize_t low = 0, high, middle
    if entry_bytes < position + width or position < 0 or width not in (4, 8):
        raise ValueError(f"a number of {width} bytes at position {position} of an entry of {entry_bytes} bytes")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    base, high = <const uint8_t *>view.buf + position, view.len // entry_bytes
    while low < high:
        middle = (low + high) // 2
        if slot_value(base + middle * entry_bytes, width) > target:
            high = middle
        else:
            low = middle + 1
    PyBuffer_Release(&view)
    return low - 1


cdef struct Place:
    int code
    int64_t position
    int64_t size
    int64_t timestamp
    int64_t offset
    int32_t epoch


cdef bint seek_records(const uint8_t *p, const uint8_t *end, int64_t timestamp, int64_t start_offset,
                       Place *place) noexcept nogil:
    """Whether the search ends in the batch at p, whose bytes are available up to `end`."""
    cdef int16_t attributes = <int16_t>load_be16(p + ATTRIBUTES_POSITION)
    cdef int32_t count = <int32_t>load_be32(p + RECORDS_COUNT_POSITION), length = 0, offset_delta = 0, i
    cdef int64_t base_offset = <int64_t>load_be64(p), delta = 0
    cdef int64_t base_timestamp = <int64_t>load_be64(p + BASE_TIMESTAMP_POSITION)
    cdef const uint8_t *stop = p + place.size
    cdef const uint8_t *q
    place.epoch = <int32_t>load_be32(p + PARTITION_LEADER_EPOCH_POSITION)
    place.timestamp = <int64_t>load_be64(p + MAX_TIMESTAMP_POSITION)
    place.code = MORE if end < stop else DECODE
    end = min(end, stop)
    p += BATCH_OVERHEAD
    for i in range(count):
        p = read_varint(p, end, &length)
        if p == NULL or length < 1 or end - p < 1:
            return True
        q = read_varlong(p + 1, end, &delta)
        if q != NULL:
            q = read_varint(q, end, &offset_delta)
        if q == NULL:
            return True
        if not attributes & LOG_APPEND_TIME:
            place.timestamp = <int64_t>(<uint64_t>base_timestamp + <uint64_t>delta)
        place.offset = <int64_t>(<uint64_t>base_offset + <uint64_t><int64_t>offset_delta)
        if place.timestamp >= timestamp and place.offset >= start_offset:
            place.code = FOUND
            return True
        if length > end - p:
            return True
        p += length
    return False


def find_timestamp(data, int64_t timestamp, int64_t start_offset):
    """The first record, from an offset on, with at least this timestamp, among the batches at the start of `data`.

    Returns (Seek, position of the batch, its size, timestamp, offset, leader epoch). Only what is needed is read, and
    no CRC is checked. The last batch may be incomplete.
    """
    cdef Py_buffer view
    cdef const uint8_t *base
    cdef const uint8_t *p
    cdef Place place = Place(MORE, 0, 0, -1, -1, -1)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    base = <const uint8_t *>view.buf
    while view.len - place.position >= BATCH_OVERHEAD:
        p = base + place.position
        place.size = <int64_t><int32_t>load_be32(p + SIZE_POSITION) + LOG_OVERHEAD
        if p[MAGIC_POSITION] != 2 or place.size < BATCH_OVERHEAD:
            place.code = DECODE
            break
        if <int64_t>load_be64(p + MAX_TIMESTAMP_POSITION) >= timestamp:
            if load_be16(p + ATTRIBUTES_POSITION) & CODEC_MASK:
                place.code = DECODE
                break
            if seek_records(p, base + view.len, timestamp, start_offset, &place):
                break
        place.position += place.size
        place.code, place.size = MORE, 0
    PyBuffer_Release(&view)
    if place.code != FOUND:
        place.timestamp, place.offset, place.epoch = -1, -1, -1
    return place.code, place.position, place.size, place.timestamp, place.offset, place.epoch


def find_batch(data, int64_t target, bint by_timestamp):
    """The first v2 batch whose last offset (`by_timestamp`: whose largest timestamp) is not below the target, among the
    batches at the start of `data`.

    Returns (Seek, base offset, position, size). Only headers are read: the last batch may be incomplete. With MORE the
    search continues at the position, which may lie beyond the data; with DECODE the batch there is in an old format, or
    broken.
    """
    cdef Py_buffer view
    cdef const uint8_t *p
    cdef int64_t position = 0, size = 0, value, base_offset = -1
    cdef int code = MORE
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    while view.len - position >= BATCH_OVERHEAD:
        p = <const uint8_t *>view.buf + position
        size = <int64_t><int32_t>load_be32(p + SIZE_POSITION) + LOG_OVERHEAD
        if p[MAGIC_POSITION] != 2 or size < BATCH_OVERHEAD:
            code = DECODE
            break
        base_offset = <int64_t>load_be64(p)
        if by_timestamp:
            value = <int64_t>load_be64(p + MAX_TIMESTAMP_POSITION)
        else:
            value = <int64_t>(<uint64_t>base_offset + <uint64_t><int64_t><int32_t>load_be32(p + LAST_OFFSET_DELTA_POSITION))
        if value >= target:
            code = FOUND
            break
        position += size
    PyBuffer_Release(&view)
    if code != FOUND:
        base_offset, size = -1, 0
    return code, base_offset, position, size
