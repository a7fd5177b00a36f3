"""Decodes v0 and v1 message sets to Arrow-shaped columns."""

from octavo.kernels.compiled.arrays cimport *
from octavo.kernels.compiled.checksums cimport *
from octavo.kernels.compiled.layout cimport *

checksums_prepare()


cdef int decode_message(const uint8_t *base, const uint8_t *p, const uint8_t *end, int columns, bint check_crc,
                        int64_t base_offset, const int64_t *timestamp, Arrays *out, Problem *problem) noexcept nogil:
    """Append one message; `timestamp`, if given, overrides that of a v1 message. The caller has checked for room."""
    cdef int8_t magic = <int8_t>p[MESSAGE_MAGIC_POSITION]
    cdef uint8_t codec = p[MESSAGE_ATTRIBUTES_POSITION] & CODEC_MASK
    cdef uint32_t crc = load_be32(p + MESSAGE_CRC_POSITION)
    cdef int64_t row = out.rows, header = MESSAGE_V1_OVERHEAD if magic != 0 else MESSAGE_V0_OVERHEAD
    cdef int32_t length
    cdef const uint8_t *q = p + header
    if codec:
        return fail(problem, NESTED_COMPRESSION, p - base, codec)
    if check_crc and crc != crc32_ieee(0, p + MESSAGE_MAGIC_POSITION, <size_t>(end - p - MESSAGE_MAGIC_POSITION)):
        return fail(problem, MESSAGE_CRC_MISMATCH, p - base, crc)
    if end - p < header + 8:
        return fail(problem, FIELD_BEYOND_MESSAGE, p - base, end - p)
    length = <int32_t>load_be32(q)
    q += 4
    if length > end - q - 4:
        return fail(problem, FIELD_BEYOND_MESSAGE, q - 4 - base, length)
    if columns & KEY:
        put(&out.key, row, q, length)
    if length > 0:
        q += length
    length = <int32_t>load_be32(q)
    q += 4
    if length > end - q:
        return fail(problem, FIELD_BEYOND_MESSAGE, q - 4 - base, length)
    if columns & VALUE:
        put(&out.value, row, q, length)
    if columns & OFFSET:
        out.offset[row] = <int64_t>(load_be64(p) + <uint64_t>base_offset)
    if columns & TIMESTAMP:
        if timestamp != NULL and magic == 1:
            out.timestamp[row] = timestamp[0]
        else:
            out.timestamp[row] = <int64_t>load_be64(p + MESSAGE_TIMESTAMP_POSITION) if magic != 0 else -1
    if columns & HEADERS:
        out.header_offsets[row + 1] = <int32_t>out.header_rows
    out.rows = row + 1
    return DONE


cdef int64_t count_messages(const uint8_t *base, const uint8_t *p, const uint8_t *end, const uint8_t **last,
                            const uint8_t **stop, Problem *problem) noexcept nogil:
    """Count the whole messages; also finds the last one and its end. An incomplete message ends the set."""
    cdef int64_t n = 0, size
    last[0], stop[0] = NULL, p
    while end - p >= LOG_OVERHEAD:
        size = <int32_t>load_be32(p + SIZE_POSITION)
        if size < MIN_MESSAGE_SIZE:
            fail(problem, MESSAGE_TOO_SMALL, p - base, size)
            return n
        if size > end - p - LOG_OVERHEAD:
            break
        last[0] = p
        p += size + LOG_OVERHEAD
        stop[0] = p
        n += 1
    return n


cdef int decode_set(const uint8_t *base, const uint8_t *p, const uint8_t *end, int columns, bint check_crc,
                    bint relative, int64_t wrapper_offset, const int64_t *timestamp, Arrays *out,
                    Problem *problem) noexcept nogil:
    cdef const uint8_t *last
    cdef const uint8_t *stop
    cdef const uint8_t *next_
    cdef int64_t count, base_offset = 0, last_inner
    count = count_messages(base, p, end, &last, &stop, problem)
    if problem.code != DONE:
        return problem.code
    if count == 0:
        return fail(problem, EMPTY_MESSAGE_SET, p - base, end - p)
    if out.rows + count > out.capacity:
        return fail(problem, FULL, p - base, 0)
    if columns & KEY and out.key.bytes - out.key.offsets[out.rows] < end - p:
        return fail(problem, FULL, p - base, 0)
    if columns & VALUE and out.value.bytes - out.value.offsets[out.rows] < end - p:
        return fail(problem, FULL, p - base, 0)
    # A wrapper offset of 0: some versions of librdkafka left all offsets to the broker. Inner ones are then absolute.
    if relative and wrapper_offset != 0:
        last_inner = <int64_t>load_be64(last)
        if wrapper_offset < last_inner:
            return fail(problem, OFFSET_BELOW_INNER, last - base, last_inner)
        base_offset = <int64_t>(<uint64_t>wrapper_offset - <uint64_t>last_inner)
    while p < stop:
        next_ = p + LOG_OVERHEAD + <int32_t>load_be32(p + SIZE_POSITION)
        if decode_message(base, p, next_, columns, check_crc, base_offset, timestamp, out, problem) != DONE:
            return problem.code
        p = next_
    return DONE


def decode_messages(data, Py_ssize_t start, Py_ssize_t end, out, int columns=31, bint check_crc=True,
                    bint relative=False, int64_t wrapper_offset=0, timestamp=None):
    """Append the uncompressed messages of data[start:end] to the columns `out`, all or none.

    `relative`: the set is from a v1 wrapper at `wrapper_offset`; its offsets are relative to its first message.
    `timestamp`: the wrapper's, if it overrides that of v1 messages. Returns an `Outcome` (the second number is 0).
    """
    cdef Arrays arrays
    cdef Problem problem = Problem(DONE, 0, 0)
    cdef const uint8_t *base
    cdef int64_t length = 0, overruling = 0, rows
    cdef const int64_t *timestamp_at = NULL
    if timestamp is not None:
        overruling = timestamp
        timestamp_at = &overruling
    pin_columns(&arrays, out, PyBUF_WRITABLE)
    try:
        require_writable(&arrays, columns)
        base = <const uint8_t *>pin(&arrays, data, PyBUF_SIMPLE, &length)
        check_range(start, end, length)
        rows = arrays.rows
        with nogil:
            if decode_set(base, base + start, base + end, columns, check_crc, relative, wrapper_offset, timestamp_at,
                          &arrays, &problem) != DONE:
                if columns & KEY:
                    forget_nulls(&arrays.key, rows, min(arrays.rows + 1, arrays.capacity))
                if columns & VALUE:
                    forget_nulls(&arrays.value, rows, min(arrays.rows + 1, arrays.capacity))
                arrays.rows = rows
        publish(&arrays, out)
    finally:
        unpin(&arrays)
    return problem.code, 0, problem.position, problem.found
