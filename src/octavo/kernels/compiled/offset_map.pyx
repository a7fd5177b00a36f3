"""Fills the offset table of a compaction with the last offset of each key, from batches or columns; and looks offsets
up."""

from octavo.kernels.compiled.arrays cimport *
from octavo.kernels.compiled.layout cimport *
from octavo.kernels.compiled.offset_table cimport *
from octavo.kernels.compiled.varint cimport *


cdef enum:
    AHEAD = 64  # this many keys are hashed and their slots fetched before the first of them is put


cdef struct Block:
    key_ref keys[AHEAD]
    int64_t offsets[AHEAD]
    bint ends_batch[AHEAD]  # not a key: everything up to this offset is in the table
    int count


cdef struct Ahead:
    Block blocks[2]  # one is being filled, while the other's slots are fetched into the cache
    int filling


cdef bint put_block(Table *table, Block *block, int64_t first_offset) noexcept nogil:
    """Put the keys of a block; False if one does not fit."""
    cdef int i
    for i in range(block.count):
        if not block.ends_batch[i]:
            if not put_offset(table, block.keys[i].hash, block.offsets[i]):
                return False
        elif block.offsets[i] >= first_offset:
            table.state.latest_offset = block.offsets[i]
    block.count = 0
    return True


cdef bint advance(Table *table, Ahead *ahead, int64_t first_offset) noexcept nogil:
    """Fetch the slots of the filled block, and put the keys of the previous one."""
    cdef Block *filled = &ahead.blocks[ahead.filling]
    hash_keys(table, filled.keys, <size_t>filled.count)
    ahead.filling = 1 - ahead.filling
    return put_block(table, &ahead.blocks[ahead.filling], first_offset)


cdef bint finish(Table *table, Ahead *ahead, int64_t first_offset) noexcept nogil:
    """Put the remaining keys."""
    return advance(table, ahead, first_offset) and advance(table, ahead, first_offset)


cdef inline bint add_key(Table *table, Ahead *ahead, const uint8_t *key, int64_t length, int64_t offset,
                         int64_t first_offset) noexcept nogil:
    cdef Block *block = &ahead.blocks[ahead.filling]
    block.keys[block.count].bytes, block.keys[block.count].length = key, <size_t>length
    block.offsets[block.count], block.ends_batch[block.count] = offset, False
    block.count += 1
    return block.count < AHEAD or advance(table, ahead, first_offset)


cdef inline bint end_batch(Table *table, Ahead *ahead, int64_t last_offset, int64_t first_offset) noexcept nogil:
    cdef Block *block = &ahead.blocks[ahead.filling]
    block.keys[block.count].bytes, block.keys[block.count].length = NULL, 0
    block.offsets[block.count], block.ends_batch[block.count] = last_offset, True
    block.count += 1
    return block.count < AHEAD or advance(table, ahead, first_offset)


cdef int map_records(Table *table, Ahead *ahead, const uint8_t *base, const uint8_t *p, const uint8_t *end,
                     const Batch *batch, int64_t first_offset, Problem *problem) noexcept nogil:
    """Collect the keys of a batch's records; nothing after the value's length is read."""
    cdef int64_t timestamp = 0, offset
    cdef int32_t n, length = 0, delta = 0, value_length = 0
    cdef const uint8_t *key
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
        key = p
        q = p + length if length > 0 else p
        p = read_varint(q, record_end, &value_length)
        if p == NULL:
            return fail(problem, BROKEN_VARINT, q - base, 0)
        offset = <int64_t>(<uint64_t>batch.base_offset + <uint64_t><int64_t>delta)
        if length < 0 or value_length < 0:
            mark(table, table.odd, offset)
        if length >= 0 and offset >= first_offset:
            if not add_key(table, ahead, key, length, offset, first_offset):
                return fail(problem, FULL, q - base, offset)
        p = record_end
    if p != end and batch.count:
        return fail(problem, TRAILING_BYTES, p - base, end - p)
    return DONE


def map_batches(offset_table, data, table, skipped, int64_t first_offset, starts=None, ends=None):
    """Put the keys of v2 batches into the table, with their records' offsets, from `first_offset` on.

    For batches marked in `skipped` (one byte each), only the last offset is recorded. `starts` and `ends` are as in
    `decode_records`. Returns an `Outcome`; FULL: no more keys fit, and the table's latest offset says how far it got.
    """
    cdef Table map
    cdef Ahead ahead
    cdef Problem problem = Problem(DONE, 0, 0)
    cdef Py_buffer views[5]
    cdef const uint8_t *base
    cdef const Batch *batches
    cdef const uint8_t *skip
    cdef const int64_t *starts_at = NULL
    cdef const int64_t *ends_at = NULL
    cdef int64_t start, end, length, last_offset
    cdef Py_ssize_t i = 0, count
    cdef int pinned = 0
    cdef bint sound = True
    ahead.blocks[0].count, ahead.blocks[1].count, ahead.filling = 0, 0, 0
    pin_table(&map, offset_table)
    try:
        for buffer in (data, table, skipped) if starts is None else (data, table, skipped, starts, ends):
            pin_buffer(views, &pinned, buffer, PyBUF_SIMPLE)
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
                last_offset = <int64_t>(<uint64_t>batches[i].base_offset + <uint64_t><int64_t>batches[i].last_offset_delta)
                if skip[i]:  # marks at both ends of a batch mean that there are none inside
                    mark(&map, map.odd, batches[i].base_offset)
                    mark(&map, map.odd, last_offset)
                if not end_batch(&map, &ahead, last_offset, first_offset):
                    problem.code = FULL
                    break
                i += 1
            # Everything before a damaged batch is in the table.
            if problem.code != FULL and not finish(&map, &ahead, first_offset):
                problem.code = FULL
    finally:
        release_buffers(views, &pinned)
        unpin_table(&map)
    if not sound:
        raise ValueError(f"batch {i}: its records do not lie inside a buffer of {length} bytes")
    return problem.code, i, problem.position, problem.found


cdef void take_keys(const Arrays *arrays, int64_t start, int64_t stop, key_ref *keys) noexcept nogil:
    """Collect the keys of rows; a null key counts as empty here."""
    cdef int64_t row
    for row in range(start, stop):
        keys[row - start].bytes = arrays.key.data + arrays.key.offsets[row] if arrays.key.offsets != NULL else NULL
        keys[row - start].length = <size_t>max(length_at(&arrays.key, row), 0)


def map_columns(offset_table, columns, int64_t first_offset):
    """Put the keys of rows into the table, with their offsets, from `first_offset` on; returns how many rows are done.

    If that is not all of them, no more keys fit.
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
    """Write the table's offset for each row's key to `out` (int64), -1 if the key is null or not in the table."""
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


def settle_marks(offset_table):
    """Keep only the marks of superseded records by removing those of each key's last offset. Put no keys afterwards."""
    cdef Table map
    cdef int64_t i
    cdef uint64_t place
    pin_table(&map, offset_table)
    with nogil:
        for i in range(map.state.slots if map.state.marking else 0):
            if map.slots[i].first or map.slots[i].second:
                place = <uint64_t>offset_in(&map, &map.slots[i]) - <uint64_t>map.state.marks_from
                if place < <uint64_t>map.state.marking:
                    map.superseded[place >> 3] &= <uint8_t>~(1 << (place & 7))
        map.state.marks = map.state.marking
    unpin_table(&map)
