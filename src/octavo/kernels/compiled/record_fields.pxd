"""One v2 record as pointers into its bytes: reads, checks and rewrites it."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from octavo.kernels.compiled.arrays cimport copy
from octavo.kernels.compiled.layout cimport *
from octavo.kernels.compiled.varint cimport *


cdef struct Fields:
    const uint8_t *tail  # from the key's length on
    const uint8_t *key
    const uint8_t *end
    int64_t timestamp_delta
    int32_t offset_delta
    int32_t key_length  # negative: null
    int32_t value_length


cdef inline bint minimal(const uint8_t *p, const uint8_t *q, int32_t number) noexcept nogil:
    """Whether the varint p..q of a length or count is encoded as Kafka would write it; Kafka writes null as -1."""
    return number >= -1 and (q - p == 1 or (q[-1] != 0 and (q - p < 5 or q[-1] < 0x10)))


cdef inline const uint8_t *read_record(const uint8_t *base, const uint8_t *p, const uint8_t *end, Fields *fields,
                                       Problem *problem) noexcept nogil:
    """The end of the record that begins at p; NULL with a problem, whose position is relative to `base`.

    What follows the value's length is left to `check_tail`, which compaction calls only for records that it rewrites.
    """
    cdef int32_t length = 0
    cdef const uint8_t *q = p
    p = read_varint(p, end, &length)
    if p == NULL:
        fail(problem, BROKEN_VARINT, q - base, 0)
        return NULL
    if length < 1 or length > end - p:
        fail(problem, RECORD_BEYOND_END, q - base, length)
        return NULL
    end = fields.end = p + length
    q = p + 1  # attributes: written as 0, never read
    p = read_varlong(q, end, &fields.timestamp_delta)
    if p != NULL:
        q = p
        p = read_varint(q, end, &fields.offset_delta)
    if p != NULL:
        q = fields.tail = p
        p = read_varint(q, end, &fields.key_length)
    if p == NULL:
        fail(problem, BROKEN_VARINT, q - base, 0)
        return NULL
    if fields.key_length > end - p:
        fail(problem, KEY_BEYOND_RECORD, q - base, fields.key_length)
        return NULL
    fields.key = p
    q = p + fields.key_length if fields.key_length > 0 else p
    p = read_varint(q, end, &fields.value_length)
    if p == NULL:
        fail(problem, BROKEN_VARINT, q - base, 0)
        return NULL
    if fields.value_length > end - p:
        fail(problem, VALUE_BEYOND_RECORD, q - base, fields.value_length)
        return NULL
    return end


cdef inline int check_tail(const uint8_t *base, const Fields *fields, bint *is_minimal, Problem *problem) noexcept nogil:
    """Check what follows the value's length; `is_minimal`: every number is encoded as Kafka would write it."""
    cdef const uint8_t *end = fields.end
    cdef const uint8_t *p = fields.key
    cdef const uint8_t *q = p + fields.key_length if fields.key_length > 0 else p
    cdef int32_t count = 0, length = 0
    cdef int64_t part
    is_minimal[0] = minimal(fields.tail, p, fields.key_length)
    p = read_varint(q, end, &length)
    is_minimal[0] = is_minimal[0] and minimal(q, p, length)
    q = p + length if length > 0 else p
    p = read_varint(q, end, &count)
    if p == NULL:
        return fail(problem, BROKEN_VARINT, q - base, 0)
    if count < 0:
        return fail(problem, NEGATIVE_HEADER_COUNT, q - base, count)
    if count > end - p:
        return fail(problem, TOO_MANY_HEADERS, q - base, count)
    is_minimal[0] = is_minimal[0] and minimal(q, p, count)
    for part in range(2 * <int64_t>count):
        q = read_varint(p, end, &length)
        if q == NULL:
            return fail(problem, BROKEN_VARINT, p - base, 0)
        if part % 2 == 0 and length < 0:
            return fail(problem, NEGATIVE_HEADER_KEY, p - base, length)
        if length > end - q:
            return fail(problem, HEADER_BEYOND_RECORD, p - base, length)
        is_minimal[0] = is_minimal[0] and minimal(p, q, length)
        p = q + length if length > 0 else q
    return DONE if p == end else fail(problem, RECORD_LENGTH_MISMATCH, p - base, end - p)


cdef inline int64_t rewrite_bytes(const uint8_t **at, const uint8_t *end, uint8_t **out) noexcept nogil:
    """Read a length and its bytes, and write them with the shortest length if `out` is given; returns their size."""
    cdef int32_t length = 0
    cdef const uint8_t *p = read_varint(at[0], end, &length)
    length = max(length, -1)
    at[0] = p + max(length, 0)
    if out != NULL:
        out[0] = write_uvarlong(out[0], zigzag(length))
        copy(out[0], p, length)
        out[0] += max(length, 0)
    return size_of_uvarlong(zigzag(length)) + max(length, 0)


cdef inline int64_t rewrite_tail(const Fields *fields, uint8_t **out) noexcept nogil:
    """The size of a checked tail with the shortest numbers, which never take more room; with `out`, also writes it
    there."""
    cdef const uint8_t *p = fields.tail
    cdef const uint8_t *q
    cdef int32_t count = 0, part
    cdef int64_t size = rewrite_bytes(&p, fields.end, out)
    size += rewrite_bytes(&p, fields.end, out)
    q = read_varint(p, fields.end, &count)
    size += size_of_uvarlong(zigzag(count))
    if out != NULL:
        out[0] = write_uvarlong(out[0], zigzag(count))
    for part in range(2 * count):
        size += rewrite_bytes(&q, fields.end, out)
    return size


cdef inline uint8_t *write_record(uint8_t *p, const Fields *fields, int64_t timestamp_delta,
                                  bint is_minimal) noexcept nogil:
    """Write the record with another timestamp delta; the caller provides room for its old size and 14 more bytes."""
    cdef uint64_t timestamp = zigzag_long(timestamp_delta), delta = zigzag(fields.offset_delta)
    cdef int64_t tail = fields.end - fields.tail if is_minimal else rewrite_tail(fields, NULL)
    p = write_uvarlong(p, zigzag(<int32_t>(1 + size_of_uvarlong(timestamp) + size_of_uvarlong(delta) + tail)))
    p[0] = 0
    p = write_uvarlong(p + 1, timestamp)
    p = write_uvarlong(p, delta)
    if is_minimal:
        copy(p, fields.tail, tail)
        return p + tail
    rewrite_tail(fields, &p)
    return p
