"""Walks the entries of a log and fills one row of the batch table for each; groups rows that are decoded together."""

from octavo.kernels.compiled.batch_header cimport read_header
from octavo.kernels.compiled.buffers cimport *
from octavo.kernels.compiled.checksums cimport *
from octavo.kernels.compiled.layout cimport *

checksums_prepare()


cdef inline void read_message(const uint8_t *p, Batch *row, bint check_crc) noexcept nogil:
    row.crc = load_be32(p + MESSAGE_CRC_POSITION)
    row.attributes = <int8_t>p[MESSAGE_ATTRIBUTES_POSITION]
    row.base_timestamp = <int64_t>load_be64(p + MESSAGE_TIMESTAMP_POSITION) if row.magic != 0 else -1
    row.max_timestamp = row.base_timestamp
    row.partition_leader_epoch, row.last_offset_delta, row.base_sequence = -1, 0, -1
    row.producer_id, row.producer_epoch = -1, -1
    row.count = -1 if row.attributes & CODEC_MASK else 1
    if not check_crc:
        row.flaws |= UNCHECKED
    elif row.crc != crc32_ieee(0, p + MESSAGE_MAGIC_POSITION, row.size - MESSAGE_MAGIC_POSITION):
        row.flaws |= CRC_MISMATCH


def walk(data, Py_ssize_t start, Py_ssize_t end, table, bint check_crc=True):
    """Fill `table` with the entries of data[start:end]; returns (rows, next position, Stop).

    Positions are relative to the start of `data`. The walk only follows lengths: a flawed batch gets a row like any
    other.
    """
    cdef Py_buffer bytes_view, table_view
    cdef const uint8_t *base
    cdef const uint8_t *p
    cdef Batch *rows
    cdef Batch *row
    cdef Py_ssize_t capacity, n = 0
    cdef int64_t left, size
    cdef int stop = TABLE_FULL
    PyObject_GetBuffer(data, &bytes_view, PyBUF_SIMPLE)
    try:
        check_range(start, end, bytes_view.len)
        PyObject_GetBuffer(table, &table_view, PyBUF_WRITABLE)
    except BaseException:
        PyBuffer_Release(&bytes_view)
        raise
    base = <const uint8_t *>bytes_view.buf
    rows = <Batch *>table_view.buf
    capacity = table_view.len // sizeof(Batch)
    with nogil:
        while True:
            left = end - start
            if left <= HEADER_UP_TO_MAGIC:
                stop = END if left == 0 else INCOMPLETE_HEADER
                break
            p = base + start
            size = <int32_t>load_be32(p + SIZE_POSITION)
            if size < MIN_MESSAGE_SIZE:
                stop = SIZE_TOO_SMALL
                break
            if size > left - LOG_OVERHEAD or size > MAX_FILE_BYTES - LOG_OVERHEAD:
                stop = INCOMPLETE_BATCH
                break
            if n == capacity:
                break
            row = rows + n
            row.position = start
            row.base_offset = <int64_t>load_be64(p)
            row.size = <int32_t>(size + LOG_OVERHEAD)
            row.magic = <int8_t>p[MAGIC_POSITION]
            row.flaws = 0 if 0 <= row.magic <= 2 else UNKNOWN_MAGIC
            row.reserved = 0
            if row.magic < 2:
                read_message(p, row, check_crc)
            else:
                read_header(p, left, row, check_crc)
            start += size + LOG_OVERHEAD
            n += 1
    PyBuffer_Release(&bytes_view)
    PyBuffer_Release(&table_view)
    return n, start, stop


cdef inline int kind_of(const Batch *row) noexcept nogil:
    if row.flaws & (UNKNOWN_MAGIC | TOO_SHORT):
        return UNREADABLE
    return (PACKED if row.attributes & CODEC_MASK else PLAIN) + (MESSAGE if row.magic < 2 else PLAIN)


def next_run(table, Py_ssize_t first, int64_t max_bytes):
    """Find the rows from `first` on that are of one kind; returns (kind, end row, records, bytes).

    Records and bytes are the most that uncompressed rows hold; compressed ones may unpack to more. A run ends with the
    row that brings it to `max_bytes`; a larger row is a run of its own. Messages of a run are consecutive, so that one
    call decodes them all.
    """
    cdef Py_buffer view
    cdef const Batch *rows
    cdef Py_ssize_t end = first, count
    cdef int64_t records = 0, size = 0, area
    cdef int kind = UNREADABLE
    PyObject_GetBuffer(table, &view, PyBUF_SIMPLE)
    rows, count = <const Batch *>view.buf, view.len // sizeof(Batch)
    if 0 <= first < count:
        kind = kind_of(&rows[first])
        while end < count and kind_of(&rows[end]) == kind:
            area = rows[end].size if kind == MESSAGE else max(<int64_t>rows[end].size - BATCH_OVERHEAD, 0)
            if end > first and (size >= max_bytes or area > max_bytes):
                break
            if kind == MESSAGE and end > first and rows[end - 1].position + rows[end - 1].size != rows[end].position:
                break
            # An uncompressed batch's count is limited to what its bytes can hold; the decoder refuses a larger one.
            records += 1 if kind == MESSAGE else min(max(rows[end].count, 0), area // MIN_RECORD_BYTES)
            size += area
            end += 1
    PyBuffer_Release(&view)
    if end == first:
        raise ValueError(f"row {first} is not in a table of {count} rows")
    return kind, end, records, size
