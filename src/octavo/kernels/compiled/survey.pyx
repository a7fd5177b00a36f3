"""Checks a producer's batch as a whole, and finds what a topic's rules need to know about its records."""

from octavo.kernels.compiled.batch_header cimport read_header
from octavo.kernels.compiled.buffers cimport *
from octavo.kernels.compiled.checksums cimport *
from octavo.kernels.compiled.layout cimport *
from octavo.kernels.compiled.record_fields cimport *

checksums_prepare()


cdef struct Survey:
    int64_t oldest
    int64_t latest
    int64_t null_keys


cdef bint is_produced(const uint8_t *p, int64_t size, Batch *batch, bint check_crc) noexcept nogil:
    """Whether these bytes are one uncompressed v2 batch with a sound header, as a producer sends it; `batch` gets its
    row."""
    if size < BATCH_OVERHEAD or size > MAX_FILE_BYTES or p[MAGIC_POSITION] != 2:
        return False
    if <int64_t><int32_t>load_be32(p + SIZE_POSITION) + LOG_OVERHEAD != size:
        return False
    batch.position, batch.base_offset, batch.size = 0, <int64_t>load_be64(p), <int32_t>size
    batch.magic, batch.flaws, batch.reserved = 2, 0, 0
    read_header(p, size, batch, check_crc)
    return (not batch.flaws & CRC_MISMATCH and batch.base_offset == 0
            and not batch.attributes & (CODEC_MASK | LOG_APPEND_TIME | CONTROL)
            and batch.count > 0 and batch.count - 1 == batch.last_offset_delta
            and (batch.producer_id <= -1 or batch.base_sequence >= 0))


cdef bint survey(const uint8_t *base, int64_t size, const Batch *batch, Survey *found) noexcept nogil:
    """Whether all records are sound."""
    cdef const uint8_t *p = base + BATCH_OVERHEAD
    cdef const uint8_t *end = base + size
    cdef Fields fields
    cdef Problem problem
    cdef bint is_minimal = False
    cdef int64_t timestamp
    cdef int32_t n
    found.null_keys = 0
    if <int64_t>batch.count * MIN_RECORD_BYTES > end - p:
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
    return p == end


def survey_produced(data, table, bint check_crc):
    """The oldest and the latest timestamp of the records in a producer's batch, how many have no key, and whether the
    batch has a producer id; its row goes into `table`.

    None, with an undefined row, unless `data` is exactly one sound v2 batch of data with CreateTime that is not
    compressed, with the base offset 0, the right count and latest timestamp (-1 or more) in its header, and a sequence
    if it has a producer id: anything else needs a closer look.
    """
    cdef Py_buffer bytes_view, table_view
    cdef Batch *batch
    cdef Survey found
    cdef bint is_sound = False
    PyObject_GetBuffer(data, &bytes_view, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(table, &table_view, PyBUF_WRITABLE)
    except BaseException:
        PyBuffer_Release(&bytes_view)
        raise
    if table_view.len >= <Py_ssize_t>sizeof(Batch):
        batch = <Batch *>table_view.buf
        with nogil:
            is_sound = (is_produced(<const uint8_t *>bytes_view.buf, bytes_view.len, batch, check_crc)
                        and survey(<const uint8_t *>bytes_view.buf, bytes_view.len, batch, &found)
                        and batch.max_timestamp == found.latest >= -1)
    outcome = (found.oldest, found.latest, found.null_keys, batch.producer_id > -1) if is_sound else None
    PyBuffer_Release(&table_view)
    PyBuffer_Release(&bytes_view)
    return outcome
