"""Encodes columns as v2 records, and as whole batches with header and CRC."""

from octavo.kernels.compiled.arrays cimport *
from octavo.kernels.compiled.batch_header cimport *
from octavo.kernels.compiled.checksums cimport *
from octavo.kernels.compiled.layout cimport *
from octavo.kernels.compiled.record_writer cimport *
from octavo.kernels.compiled.varint cimport *

checksums_prepare()


cdef uint8_t *encode_rows(const Arrays *source, int64_t row, int64_t end_row, int64_t base_offset, int64_t base_timestamp,
                          uint8_t *p, const uint8_t *end, int *code) noexcept nogil:
    """Write the records of these rows; NULL and a code if one cannot be written."""
    cdef int64_t body, delta
    cdef uint64_t timestamp
    while row < end_row:
        delta = <int64_t>(<uint64_t>source.offset[row] - <uint64_t>base_offset)
        if not -2147483648 <= delta <= 2147483647:
            code[0] = DELTA_OUT_OF_RANGE
            return NULL
        timestamp = zigzag_long(<int64_t>(<uint64_t>source.timestamp[row] - <uint64_t>base_timestamp))
        body = 1 + size_of_uvarlong(timestamp) + size_of_uvarlong(zigzag(<int32_t>delta)) + size_of_fields(source, row)
        if body > 2147483647 or body + 5 > end - p:
            code[0] = FULL
            return NULL
        p = write_record(p, source, row, body, timestamp, <int32_t>delta)
        row += 1
    return p


def encode_records(columns, int64_t first, int64_t end, int64_t base_offset, int64_t base_timestamp, out, Py_ssize_t at):
    """Write the records of rows first..end to out[at:]; returns (code, end position)."""
    cdef Arrays arrays
    cdef uint8_t *base
    cdef uint8_t *p
    cdef int64_t length = 0
    cdef int code = DONE
    pin_columns(&arrays, columns, PyBUF_SIMPLE)
    try:
        check_columns(&arrays, first, end)
        base = <uint8_t *>pin(&arrays, out, PyBUF_WRITABLE, &length)
        check_range(at, length, length)
        with nogil:
            p = encode_rows(&arrays, first, end, base_offset, base_timestamp, base + at, base + length, &code)
    finally:
        unpin(&arrays)
    return code, at if p == NULL else p - base


def encode_batches(columns, int64_t row, table, out, Py_ssize_t at):
    """Write uncompressed v2 batches one after another to out[at:].

    Each row of `table` has the header of its batch and takes the next `count` rows of the columns, from `row` on;
    `position`, `size`, `crc`, `magic` and `flaws` are filled in. Returns (code, batches written, end position).
    """
    cdef Arrays arrays
    cdef Batch *batches
    cdef uint8_t *base
    cdef uint8_t *p
    cdef int64_t length = 0, table_bytes = 0, rows = 0
    cdef Py_ssize_t count, i
    cdef int code = DONE
    pin_columns(&arrays, columns, PyBUF_SIMPLE)
    try:
        base = <uint8_t *>pin(&arrays, out, PyBUF_WRITABLE, &length)
        check_range(at, length, length)
        batches = <Batch *>pin(&arrays, table, PyBUF_WRITABLE, &table_bytes)
        count = table_bytes // sizeof(Batch)
        for i in range(count):
            if batches[i].count < 0:
                raise ValueError(f"batch {i}: count {batches[i].count} is negative")
            rows += batches[i].count
        check_columns(&arrays, row, <int64_t>(<uint64_t>row + <uint64_t>rows))
        i = 0
        with nogil:
            while i < count:
                if length - at < BATCH_OVERHEAD:
                    code = FULL
                    break
                p = encode_rows(&arrays, row, row + batches[i].count, batches[i].base_offset, batches[i].base_timestamp,
                                base + at + BATCH_OVERHEAD, base + length, &code)
                if p == NULL:
                    break
                if p - base - at > MAX_FILE_BYTES:
                    code = FULL
                    break
                batches[i].position, batches[i].size = at, <int32_t>(p - base - at)
                seal_batch(base + at, &batches[i])
                row += batches[i].count
                at += batches[i].size
                i += 1
    finally:
        unpin(&arrays)
    return code, i, at
