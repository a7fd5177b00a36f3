"""Decodes v2 records to Arrow-shaped columns, in one pass."""

from octavo.kernels.compiled.arrays cimport *
from octavo.kernels.compiled.layout cimport *
from octavo.kernels.compiled.varint cimport *


cdef int decode_headers(const uint8_t *base, const uint8_t *p, const uint8_t *end, int32_t count, Arrays *out,
                        bint build, Problem *problem) noexcept nogil:
    """Decode `count` headers that fill the bytes up to `end` exactly."""
    cdef int32_t key_length = 0, length = 0
    cdef const uint8_t *q
    cdef const uint8_t *key
    while count:
        q = read_varint(p, end, &key_length)
        if q == NULL:
            return fail(problem, BROKEN_VARINT, p - base, 0)
        if key_length < 0:
            return fail(problem, NEGATIVE_HEADER_KEY, p - base, key_length)
        if key_length > end - q:
            return fail(problem, HEADER_BEYOND_RECORD, p - base, key_length)
        key = q
        p = q + key_length
        q = read_varint(p, end, &length)
        if q == NULL:
            return fail(problem, BROKEN_VARINT, p - base, 0)
        if length > end - q:
            return fail(problem, HEADER_BEYOND_RECORD, p - base, length)
        if build:
            if (out.header_rows >= out.header_key.rows or out.header_rows >= out.header_value.rows
                    or out.header_key.bytes - out.header_key.offsets[out.header_rows] < key_length
                    or out.header_value.bytes - out.header_value.offsets[out.header_rows] < length):
                return fail(problem, FULL, p - base, 0)
            put(&out.header_key, out.header_rows, key, key_length)
            put(&out.header_value, out.header_rows, q, length)
            out.header_rows += 1
        p = q + length if length > 0 else q
        count -= 1
    return DONE if p == end else fail(problem, RECORD_LENGTH_MISMATCH, p - base, end - p)


cdef int decode_batch(const uint8_t *base, const uint8_t *p, const uint8_t *end, const Batch *batch, int columns,
                      Arrays *out, Problem *problem) noexcept nogil:
    """Append the records between p and `end` to the columns; positions of problems are relative to `base`."""
    cdef int64_t area = end - p, row = out.rows, timestamp = 0
    cdef int64_t overruled = batch.attributes & LOG_APPEND_TIME and not columns & STORED_TIMESTAMP
    cdef int32_t n, length = 0, delta = 0, headers = 0
    cdef const uint8_t *q
    cdef const uint8_t *record
    cdef const uint8_t *record_end
    if batch.count < 0:
        return fail(problem, NEGATIVE_COUNT, p - base, batch.count)
    if batch.count == 0:
        return DONE  # Kafka ignores what follows
    if <int64_t>batch.count * MIN_RECORD_BYTES > area:
        return fail(problem, TOO_MANY_RECORDS, p - base, batch.count)
    if row + batch.count > out.capacity:
        return fail(problem, FULL, p - base, 0)
    # Keys and values together are shorter than the records, so the copies below need no checks of their own.
    if columns & KEY and out.key.bytes - out.key.offsets[row] < area:
        return fail(problem, FULL, p - base, 0)
    if columns & VALUE and out.value.bytes - out.value.offsets[row] < area:
        return fail(problem, FULL, p - base, 0)
    for n in range(batch.count):
        record = p
        p = read_varint(p, end, &length)
        if p == NULL:
            return fail(problem, BROKEN_VARINT, record - base, 0)
        if length < 1 or length > end - p:
            return fail(problem, RECORD_BEYOND_END, record - base, length)
        record_end = p + length
        p += 1  # attributes: written as 0, never read
        q = p
        p = read_varlong(p, record_end, &timestamp)
        if p == NULL:
            return fail(problem, BROKEN_VARINT, q - base, 0)
        q = p
        p = read_varint(p, record_end, &delta)
        if p == NULL:
            return fail(problem, BROKEN_VARINT, q - base, 0)
        if columns & OFFSET:
            out.offset[row] = <int64_t>(<uint64_t>batch.base_offset + <uint64_t><int64_t>delta)
        if columns & TIMESTAMP:
            out.timestamp[row] = batch.max_timestamp if overruled else <int64_t>(
                <uint64_t>batch.base_timestamp + <uint64_t>timestamp)
        q = p
        p = read_varint(p, record_end, &length)
        if p == NULL:
            return fail(problem, BROKEN_VARINT, q - base, 0)
        if length > record_end - p:
            return fail(problem, KEY_BEYOND_RECORD, q - base, length)
        if columns & KEY:
            put(&out.key, row, p, length)
        if length > 0:
            p += length
        q = p
        p = read_varint(p, record_end, &length)
        if p == NULL:
            return fail(problem, BROKEN_VARINT, q - base, 0)
        if length > record_end - p:
            return fail(problem, VALUE_BEYOND_RECORD, q - base, length)
        if columns & VALUE:
            put(&out.value, row, p, length)
        if length > 0:
            p += length
        q = p
        p = read_varint(p, record_end, &headers)
        if p == NULL:
            return fail(problem, BROKEN_VARINT, q - base, 0)
        if headers:
            if headers < 0:
                return fail(problem, NEGATIVE_HEADER_COUNT, q - base, headers)
            if headers > record_end - p:
                return fail(problem, TOO_MANY_HEADERS, q - base, headers)
            if decode_headers(base, p, record_end, headers, out, columns & HEADERS, problem) != DONE:
                return problem.code
            p = record_end
        elif p != record_end:
            return fail(problem, RECORD_LENGTH_MISMATCH, p - base, record_end - p)
        row += 1
        if columns & HEADERS:
            out.header_offsets[row] = <int32_t>out.header_rows
    if p != end:
        return fail(problem, TRAILING_BYTES, p - base, end - p)
    out.rows = row
    return DONE


cdef void take_back(Arrays *out, int columns, int64_t rows, int32_t count, int64_t header_rows) noexcept nogil:
    cdef int64_t end = min(rows + max(count, 0), out.capacity)
    if columns & KEY:
        forget_nulls(&out.key, rows, end)
    if columns & VALUE:
        forget_nulls(&out.value, rows, end)
    if columns & HEADERS:
        forget_nulls(&out.header_value, header_rows, out.header_rows)
    out.header_rows = header_rows


cdef Py_ssize_t decode_all(const uint8_t *base, int64_t length, const Batch *batches, Py_ssize_t i, Py_ssize_t count,
                           const int64_t *starts, const int64_t *ends, int columns, Arrays *out, Problem *problem):
    """Decode batches; returns the first one not decoded, or -1 - i if batch i's records lie outside the buffer."""
    cdef int64_t start, end, header_rows
    with nogil:
        while i < count:
            if starts != NULL:
                start, end = starts[i], ends[i]
            elif 0 <= batches[i].position <= length:  # otherwise the sums could overflow
                start, end = batches[i].position + BATCH_OVERHEAD, batches[i].position + batches[i].size
            else:
                start = end = -1
            if not 0 <= start <= end <= length:
                i = -1 - i
                break
            header_rows = out.header_rows
            if decode_batch(base, base + start, base + end, &batches[i], columns, out, problem) != DONE:
                take_back(out, columns, out.rows, batches[i].count, header_rows)
                break
            i += 1
    return i


def decode_records(data, table, Py_ssize_t first, out, int columns=31, starts=None, ends=None):
    """Append the records of v2 batches `first`, `first + 1`, … of `table` to the columns `out`.

    The records lie in `data` after each batch's header or, if given, between `starts` and `ends` (int64, one per row),
    which is how decompressed records are decoded. Returns an `Outcome`; whatever the code, the columns hold the records
    of all batches before the returned one, and none of that one's.
    """
    cdef Arrays arrays
    cdef Problem problem = Problem(DONE, 0, 0)
    cdef const uint8_t *base
    cdef const Batch *batches
    cdef const int64_t *starts_at
    cdef const int64_t *ends_at
    cdef int64_t length = 0, table_bytes = 0, starts_bytes = 0, ends_bytes = 0
    cdef Py_ssize_t count
    if first < 0 or (starts is None) != (ends is None):
        raise ValueError("first must not be negative, and starts and ends must be given together")
    pin_columns(&arrays, out, PyBUF_WRITABLE)
    try:
        require_writable(&arrays, columns)
        base = <const uint8_t *>pin(&arrays, data, PyBUF_SIMPLE, &length)
        batches = <const Batch *>pin(&arrays, table, PyBUF_SIMPLE, &table_bytes)
        starts_at = <const int64_t *>pin(&arrays, starts, PyBUF_SIMPLE, &starts_bytes)
        ends_at = <const int64_t *>pin(&arrays, ends, PyBUF_SIMPLE, &ends_bytes)
        count = table_bytes // sizeof(Batch)
        if starts_at != NULL:
            count = min(count, starts_bytes // 8, ends_bytes // 8)
        first = decode_all(base, length, batches, first, count, starts_at, ends_at, columns, &arrays, &problem)
        publish(&arrays, out)
    finally:
        unpin(&arrays)
    if first < 0:
        raise ValueError(f"batch {-1 - first}: its records do not lie inside a buffer of {length} bytes")
    return problem.code, first, problem.position, problem.found
