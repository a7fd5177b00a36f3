"""Fill the table of a compaction: the last offset of each key, from batches or from columns; and look offsets up."""

from octavo.kernels.compiled.arrays cimport *
from octavo.kernels.compiled.layout cimport *
from octavo.kernels.compiled.offset_table cimport *
from octavo.kernels.compiled.varint cimport *


cdef enum:
    AHEAD = 64  # so many keys are hashed and their slots fetched before the first of them is put


cdef struct Ahead:
    key_ref keys[AHEAD]
    int64_t offsets[AHEAD]
    bint ends_batch[AHEAD]  # no key: all up to this offset is in the table
    int count


cdef bint put_ahead(Table *table, Ahead *ahead, int64_t first_offset) noexcept nogil:
    """Put the keys that wait; False where one does not fit."""
    cdef int i
    hash_keys(table, ahead.keys, <size_t>ahead.count)
    for i in range(ahead.count):
        if not ahead.ends_batch[i]:
            if not put_offset(table, ahead.keys[i].hash, ahead.offsets[i]):
                return False
        elif ahead.offsets[i] >= first_offset:
            table.state.latest_offset = ahead.offsets[i]
    ahead.count = 0
    return True


cdef inline bint add_key(Table *table, Ahead *ahead, const uint8_t *key, int64_t length, int64_t offset,
                         int64_t first_offset) noexcept nogil:
    ahead.keys[ahead.count].bytes, ahead.keys[ahead.count].length = key, <size_t>length
    ahead.offsets[ahead.count], ahead.ends_batch[ahead.count] = offset, False
    ahead.count += 1
    return ahead.count < AHEAD or put_ahead(table, ahead, first_offset)


cdef inline bint end_batch(Table *table, Ahead *ahead, int64_t last_offset, int64_t first_offset) noexcept nogil:
    ahead.keys[ahead.count].bytes, ahead.keys[ahead.count].length = NULL, 0
    ahead.offsets[ahead.count], ahead.ends_batch[ahead.count] = last_offset, True
    ahead.count += 1
    return ahead.count < AHEAD or put_ahead(table, ahead, first_offset)


cdef int map_records(Table *table, Ahead *ahead, const uint8_t *base, const uint8_t *p, const uint8_t *end,
                     const Batch *batch, int64_t first_offset, Problem *problem) noexcept nogil:
    """The keys of a batch's records; what follows a key is not looked at."""
    cdef int64_t timestamp = 0, offset
    cdef int32_t n, length = 0, delta = 0
    cdef const uint8_t *q
    cdef const uint8_t *record_end
    if batch.count < 0:
        return fail(problem, NEGATIVE_COUNT, p - base, batch.count)
    for n in range(batch.count):
        prefetch_ahead(p)
        q = p
        p = read_varint(p, end, &length)
        if p == NULL:
            return fail(problem, BROKEN_VARINT, q - base, 0)
        if length < 1 or length > end - p:
            return fail(problem, RECORD_BEYOND_END, q - base, length)
        record_end = p + length
        q = p + 1
        p = read_varlong(q, record_end, &timestamp)
        if p != NULL:
            q = p
            p = read_varint(p, record_end, &delta)
        if p != NULL:
            q = p
            p = read_varint(p, record_end, &length)
        if p == NULL:
            return fail(problem, BROKEN_VARINT, q - base, 0)
        if length > record_end - p:
            return fail(problem, KEY_BEYOND_RECORD, q - base, length)
        offset = <int64_t>(<uint64_t>batch.base_offset + <uint64_t><int64_t>delta)
        if length >= 0 and offset >= first_offset:
            if not add_key(table, ahead, p, length, offset, first_offset):
                return fail(problem, FULL, q - base, offset)
        p = record_end
    if p != end and batch.count:
        return fail(problem, TRAILING_BYTES, p - base, end - p)
    return DONE


def map_batches(offset_table, data, table, skipped, int64_t first_offset, starts=None, ends=None):
    """Let the keys of v2 batches have the offsets of their records, from `first_offset` on.

    Of batches that `skipped` (a byte each) marks, only the last offset is noted. `starts` and `ends` as in
    `decode_records`. Returns an `Outcome`; FULL: the table takes no more keys, and its latest offset is what it has.
    """
    cdef Table map
    cdef Ahead ahead
    cdef Problem problem
    cdef Py_buffer views[5]
    cdef const uint8_t *base
    cdef const Batch *batches
    cdef const uint8_t *skip
    cdef const int64_t *starts_at = NULL
    cdef const int64_t *ends_at = NULL
    cdef int64_t start, end, length
    cdef Py_ssize_t i = 0, count
    cdef int pinned = 0
    cdef bint sound = True
    problem.code, problem.position, problem.found = DONE, 0, 0
    ahead.count = 0
    pin_table(&map, offset_table)
    try:
        for buffer in (data, table, skipped) if starts is None else (data, table, skipped, starts, ends):
            PyObject_GetBuffer(buffer, &views[pinned], PyBUF_SIMPLE)
            pinned += 1
        base, batches, skip = <const uint8_t *>views[0].buf, <const Batch *>views[1].buf, <const uint8_t *>views[2].buf
        length, count = views[0].len, min(views[1].len // <Py_ssize_t>sizeof(Batch), views[2].len)
        if starts is not None:
            starts_at, ends_at = <const int64_t *>views[3].buf, <const int64_t *>views[4].buf
            count = min(count, views[3].len // 8, views[4].len // 8)
        with nogil:
            while i < count:
                if not skip[i]:
                    if starts_at != NULL:
                        start, end = starts_at[i], ends_at[i]
                    elif 0 <= batches[i].position <= length:
                        start, end = batches[i].position + BATCH_OVERHEAD, batches[i].position + batches[i].size
                    else:
                        start = end = -1
                    sound = 0 <= start <= end <= length
                    if not sound or map_records(&map, &ahead, base, base + start, base + end, &batches[i],
                                                first_offset, &problem) != DONE:
                        break
                if not end_batch(&map, &ahead, <int64_t>(<uint64_t>batches[i].base_offset
                                 + <uint64_t><int64_t>batches[i].last_offset_delta), first_offset):
                    problem.code = FULL
                    break
                i += 1
            # What comes before a damaged batch is in the table.
            if problem.code != FULL and not put_ahead(&map, &ahead, first_offset):
                problem.code = FULL
    finally:
        while pinned:
            pinned -= 1
            PyBuffer_Release(&views[pinned])
        unpin_table(&map)
    if not sound:
        raise ValueError(f"batch {i}: its records do not lie inside a buffer of {length} bytes")
    return problem.code, i, problem.position, problem.found


cdef void take_keys(const Arrays *arrays, int64_t start, int64_t stop, key_ref *keys) noexcept nogil:
    """The keys of rows; null is as empty here."""
    cdef int64_t row
    for row in range(start, stop):
        keys[row - start].bytes = arrays.key.data + arrays.key.offsets[row] if arrays.key.offsets != NULL else NULL
        keys[row - start].length = <size_t>max(length_at(&arrays.key, row), 0)


def map_columns(offset_table, columns, int64_t first_offset):
    """Let the keys of rows have the rows' offsets, from `first_offset` on; returns how many rows were taken.

    Less than all: the table takes no more keys.
    """
    cdef Table map
    cdef Arrays arrays
    cdef int64_t row = 0, start, stop
    cdef key_ref keys[AHEAD]
    cdef bint full = False
    pin_columns(&arrays, columns, PyBUF_SIMPLE)
    try:
        check_columns(&arrays, 0, arrays.rows)
        pin_table(&map, offset_table)
        with nogil:
            while row < arrays.rows and not full:
                start, stop = row, min(row + AHEAD, arrays.rows)
                take_keys(&arrays, start, stop, keys)
                hash_keys(&map, keys, <size_t>(stop - start))
                while row < stop:
                    if length_at(&arrays.key, row) >= 0 and arrays.offset[row] >= first_offset:
                        if not put_offset(&map, keys[row - start].hash, arrays.offset[row]):
                            full = True
                            break
                    row += 1
        unpin_table(&map)
    finally:
        unpin(&arrays)
    return row


def find_offsets(offset_table, columns, out):
    """The offset that each row's key has in the table, -1 for none and for a row without a key, into `out` (int64)."""
    cdef Table map
    cdef Arrays arrays
    cdef int64_t row = 0, start, stop, out_bytes = 0
    cdef int64_t *found
    cdef key_ref keys[AHEAD]
    pin_columns(&arrays, columns, PyBUF_SIMPLE)
    try:
        check_columns(&arrays, 0, arrays.rows)
        found = <int64_t *>pin(&arrays, out, PyBUF_WRITABLE, &out_bytes)
        if out_bytes // 8 < arrays.rows:
            raise ValueError(f"room for {out_bytes // 8} offsets, expected {arrays.rows}")
        pin_table(&map, offset_table)
        with nogil:
            while row < arrays.rows:
                start, stop = row, min(row + AHEAD, arrays.rows)
                take_keys(&arrays, start, stop, keys)
                hash_keys(&map, keys, <size_t>(stop - start))
                for row in range(start, stop):
                    found[row] = find_offset(&map, keys[row - start].hash) if length_at(&arrays.key, row) >= 0 else -1
                row = stop
        unpin_table(&map)
    finally:
        unpin(&arrays)
