"""Checks the records of an uncompressed v2 batch, and says what a topic's rules ask about all of them together."""

from octavo.kernels.compiled.buffers cimport *
from octavo.kernels.compiled.layout cimport *
from octavo.kernels.compiled.record_fields cimport *


cdef struct Survey:
    int64_t oldest
    int64_t latest
    int64_t null_keys
    bint is_numbered


cdef bint survey(const uint8_t *base, const uint8_t *p, const uint8_t *end, const Batch *batch,
                 Survey *found) noexcept nogil:
    """Whether all records are sound."""
    cdef Fields fields
    cdef Problem problem
    cdef bint is_minimal = False
    cdef int64_t timestamp
    cdef int32_t n
    found.null_keys, found.is_numbered = 0, True
    if batch.count <= 0 or <int64_t>batch.count * MIN_RECORD_BYTES > end - p:
        return False
    for n in range(batch.count):
        p = read_record(base, p, end, &fields, &problem)
        if p == NULL or check_tail(base, &fields, &is_minimal, &problem) != DONE:
            return False
        timestamp = <int64_t>(<uint64_t>batch.base_timestamp + <uint64_t>fields.timestamp_delta)
        if n == 0:
            found.oldest = found.latest = timestamp
        elif timestamp < found.oldest:
            found.oldest = timestamp
        elif timestamp > found.latest:
            found.latest = timestamp
        found.null_keys += fields.key_length < 0
        found.is_numbered = found.is_numbered and <int64_t>(
            <uint64_t>batch.base_offset + <uint64_t><int64_t>fields.offset_delta) == n
    return p == end


def survey_records(data, table, Py_ssize_t row):
    """The oldest and the latest timestamp of a batch's records, how many have no key, and whether their offsets are 0,
    1, 2, …

    None if the batch has no records, if they cannot be read, are compressed or in an old format, or have the batch's
    timestamp instead of their own: then only decoding them tells more.
    """
    cdef Py_buffer bytes_view, table_view
    cdef const Batch *batch
    cdef Survey found
    cdef bint is_inside = False, is_sound = False
    PyObject_GetBuffer(data, &bytes_view, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(table, &table_view, PyBUF_SIMPLE)
        try:
            if 0 <= row < table_view.len // <Py_ssize_t>sizeof(Batch):
                batch = <const Batch *>table_view.buf + row
                is_inside = 0 <= batch.position <= bytes_view.len and BATCH_OVERHEAD <= batch.size <= (
                    bytes_view.len - batch.position)
            if is_inside and batch.magic == 2 and not batch.attributes & (CODEC_MASK | LOG_APPEND_TIME):
                with nogil:
                    is_sound = survey(<const uint8_t *>bytes_view.buf,
                                      <const uint8_t *>bytes_view.buf + batch.position + BATCH_OVERHEAD,
                                      <const uint8_t *>bytes_view.buf + batch.position + batch.size, batch, &found)
        finally:
            PyBuffer_Release(&table_view)
    finally:
        PyBuffer_Release(&bytes_view)
    if not is_sound:
        return None
    return found.oldest, found.latest, found.null_keys, found.is_numbered
