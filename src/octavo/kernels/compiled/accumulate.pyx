"""Collects a producer's records into batches: one by one into an open batch, or from columns by the same rule."""

from cpython.bytes cimport PyBytes_AsStringAndSize
from libc.string cimport memcpy

from octavo.kernels.compiled.arrays cimport *
from octavo.kernels.compiled.layout cimport *
from octavo.kernels.compiled.record_writer cimport *
from octavo.kernels.compiled.varint cimport *

cdef float COMPRESSION_RATE_ESTIMATION_FACTOR = 1.05


cdef inline int64_t estimated_size(int64_t record_bytes, float ratio) noexcept nogil:
    """The estimated size of a batch with this many bytes of records, in Kafka's float arithmetic; ratio 0 means no
    codec."""
    if ratio == 0:
        return BATCH_OVERHEAD + record_bytes
    return BATCH_OVERHEAD + <int64_t>(<float>record_bytes * ratio * COMPRESSION_RATE_ESTIMATION_FACTOR)


def append_record(batch, int64_t timestamp, key, value, bytes headers, int64_t write_limit, float ratio, int64_t max_bytes):
    """Add a record to an open batch; returns its number there, or one of `Refused`.

    An open batch is a zeroed bytearray; its header has the size, count and timestamps of its records so far, and the
    magic 0 until it is closed. `headers` is encoded, including its count. The GIL is held throughout: threads take turns.
    """
    cdef Py_buffer view
    cdef char *key_data = NULL
    cdef char *value_data = NULL
    cdef Py_ssize_t key_size = -1, value_size = -1, headers_size = 0
    cdef char *headers_data = NULL
    cdef int64_t at, fields, body, base_timestamp, size, estimated
    cdef int32_t count
    cdef uint64_t delta_ms
    cdef uint8_t *base
    cdef uint8_t *p
    if key is not None:
        PyBytes_AsStringAndSize(key, &key_data, &key_size)
    if value is not None:
        PyBytes_AsStringAndSize(value, &value_data, &value_size)
    PyBytes_AsStringAndSize(headers, &headers_data, &headers_size)
    fields = size_of_bytes(key_size) + size_of_bytes(value_size) + headers_size
    if BATCH_OVERHEAD + MAX_RECORD_OVERHEAD + fields > max_bytes:
        return TOO_LARGE
    PyObject_GetBuffer(batch, &view, PyBUF_WRITABLE)
    try:
        base = <uint8_t *>view.buf
        if view.len < BATCH_OVERHEAD:
            raise ValueError(f"an open batch of {view.len} bytes, expected at least {BATCH_OVERHEAD}")
        if base[MAGIC_POSITION] != 0:
            return NO_ROOM
        count = <int32_t>load_be32(base + RECORDS_COUNT_POSITION)
        base_timestamp = <int64_t>load_be64(base + BASE_TIMESTAMP_POSITION) if count else timestamp
        at = <int32_t>load_be32(base + SIZE_POSITION) + LOG_OVERHEAD if count else BATCH_OVERHEAD
        if count < 0 or not BATCH_OVERHEAD <= at <= view.len:
            raise ValueError(f"{count} records up to position {at} in an open batch of {view.len} bytes")
        delta_ms = zigzag_long(<int64_t>(<uint64_t>timestamp - <uint64_t>base_timestamp))
        body = 1 + size_of_uvarlong(delta_ms) + size_of_uvarlong(zigzag(count)) + fields
        size = size_of_record(body)
        estimated = estimated_size(at - BATCH_OVERHEAD, ratio)
        if count and (write_limit <= estimated or write_limit < estimated + size or count == 2147483647):
            return NO_ROOM
        if at + size > view.len:
            return SHORT_BUFFER
        p = write_uvarlong(base + at, zigzag(<int32_t>body))
        p[0] = 0
        p = write_uvarlong(p + 1, delta_ms)
        p = write_uvarlong(p, zigzag(count))
        p = write_uvarlong(p, zigzag(<int32_t>key_size))
        if key_size > 0:
            copy(p, <const uint8_t *>key_data, key_size)
            p += key_size
        p = write_uvarlong(p, zigzag(<int32_t>value_size))
        if value_size > 0:
            copy(p, <const uint8_t *>value_data, value_size)
            p += value_size
        memcpy(p, headers_data, <size_t>headers_size)
        store_be32(base + SIZE_POSITION, <uint32_t>(at + size - LOG_OVERHEAD))
        store_be32(base + LAST_OFFSET_DELTA_POSITION, <uint32_t>count)
        store_be32(base + RECORDS_COUNT_POSITION, <uint32_t>count + 1)
        if count == 0:
            store_be64(base + BASE_TIMESTAMP_POSITION, <uint64_t>timestamp)
        if count == 0 or timestamp > <int64_t>load_be64(base + MAX_TIMESTAMP_POSITION):
            store_be64(base + MAX_TIMESTAMP_POSITION, <uint64_t>timestamp)
        return count
    finally:
        PyBuffer_Release(&view)


def close_batch(batch):
    """Close an open batch: from now on it has no room. One that is already closed stays as it is."""
    cdef Py_buffer view
    PyObject_GetBuffer(batch, &view, PyBUF_WRITABLE)
    if view.len >= BATCH_OVERHEAD:
        (<uint8_t *>view.buf)[MAGIC_POSITION] = 2
    PyBuffer_Release(&view)


cdef int64_t cut_one(const Arrays *source, int64_t row, int64_t end, Batch *batch, int64_t batch_size, float ratio) noexcept nogil:
    """Fill a batch with as many rows from `row` on as fit; returns the row after them."""
    cdef int64_t first = row, limit = batch_size, used = 0, body, size, estimated, fields
    cdef uint64_t delta_ms
    batch.base_timestamp = batch.max_timestamp = source.timestamp[row]
    while row < end and row - first < 2147483647:
        delta_ms = zigzag_long(<int64_t>(<uint64_t>source.timestamp[row] - <uint64_t>batch.base_timestamp))
        fields = size_of_fields(source, row)
        body = 1 + size_of_uvarlong(delta_ms) + size_of_uvarlong(zigzag(<int32_t>(row - first))) + fields
        size = size_of_record(body)
        if row == first:
            limit = max(batch_size, BATCH_OVERHEAD + MAX_RECORD_OVERHEAD + fields)
        else:
            estimated = estimated_size(used, ratio)
            if limit <= estimated or limit < estimated + size:
                break
        if source.timestamp[row] > batch.max_timestamp:
            batch.max_timestamp = source.timestamp[row]
        used += size
        row += 1
    batch.count, batch.last_offset_delta = <int32_t>(row - first), <int32_t>(row - first - 1)
    batch.size = <int32_t>min(BATCH_OVERHEAD + used, <int64_t>MAX_FILE_BYTES)
    return row


def cut_batches(columns, int64_t row, int64_t end, table, int64_t batch_size, float ratio):
    """Cut rows into batches as if records were sent one by one; returns (batches, first remaining row).

    Each row of `table` gets count, lastOffsetDelta, timestamps and, in `size`, its bytes before compression.
    """
    cdef Arrays arrays
    cdef Batch *batches
    cdef int64_t table_bytes = 0, count, i = 0
    pin_columns(&arrays, columns, PyBUF_SIMPLE)
    try:
        check_columns(&arrays, row, end)
        batches = <Batch *>pin(&arrays, table, PyBUF_WRITABLE, &table_bytes)
        count = table_bytes // sizeof(Batch)
        with nogil:
            while i < count and row < end:
                row = cut_one(&arrays, row, end, &batches[i], batch_size, ratio)
                i += 1
    finally:
        unpin(&arrays)
    return i, row
