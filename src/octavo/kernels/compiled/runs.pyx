"""Encodes rows in any order as runs of batches in one pass; each run is cut into batches as a producer would fill
them."""

from octavo.kernels.compiled.arrays cimport *
from octavo.kernels.compiled.batch_header cimport *
from octavo.kernels.compiled.checksums cimport *
from octavo.kernels.compiled.layout cimport *
from octavo.kernels.compiled.record_writer cimport *
from octavo.kernels.compiled.varint cimport *

checksums_prepare()

cdef enum:
    # the order jumps around in the columns, which the CPU cannot foresee: prefetching saves 20 % of the time
    ROWS_AHEAD = 6


cdef extern from *:
    """
    #define octavo_prefetch(p) __builtin_prefetch(p)
    """
    void octavo_prefetch(const void *p) noexcept nogil


cdef inline void fetch_ahead(const Binary *column, int64_t row) noexcept nogil:
    """Prefetch the first cache lines of a value; the CPU fetches the rest by itself."""
    if column.offsets != NULL:
        octavo_prefetch(column.data + column.offsets[row])
        octavo_prefetch(column.data + column.offsets[row] + 64)


cdef int64_t fill_batch(const Arrays *source, const int32_t *order, int64_t place, int64_t end, Batch *batch,
                        int64_t batch_size, uint8_t *base, int64_t length, int *code) noexcept nogil:
    """Fill a batch, after its header, with as many rows as fit from a place in the order on; returns the place after
    them."""
    cdef int64_t first = place, limit = batch_size, fields, body, size, timestamp, row
    cdef uint64_t delta_ms
    cdef uint8_t *start = base + batch.position
    cdef uint8_t *p = start + BATCH_OVERHEAD
    if length - batch.position < BATCH_OVERHEAD:
        code[0] = FULL
        return place
    batch.base_timestamp = batch.max_timestamp = source.timestamp[order[place]]
    while place < end and place - first < 2147483647:
        row = order[place]
        if place + ROWS_AHEAD < end:
            fetch_ahead(&source.key, order[place + ROWS_AHEAD])
            fetch_ahead(&source.value, order[place + ROWS_AHEAD])
        timestamp = source.timestamp[row]
        delta_ms = zigzag_long(<int64_t>(<uint64_t>timestamp - <uint64_t>batch.base_timestamp))
        fields = size_of_fields(source, row)
        body = 1 + size_of_uvarlong(delta_ms) + size_of_uvarlong(zigzag(<int32_t>(place - first))) + fields
        size = size_of_record(body)
        if place == first:
            limit = max(batch_size, BATCH_OVERHEAD + MAX_RECORD_OVERHEAD + fields)
        elif limit < p - start + size:
            break
        if p - start + size > MAX_FILE_BYTES or p - base + size > length:
            code[0] = FULL
            return first
        p = write_record(p, source, row, body, delta_ms, <int32_t>(place - first))
        if timestamp > batch.max_timestamp:
            batch.max_timestamp = timestamp
        place += 1
    batch.count, batch.last_offset_delta = <int32_t>(place - first), <int32_t>(place - first - 1)
    batch.size = <int32_t>(p - start)
    return place


def encode_runs(columns, order, ends, table, out, int64_t batch_size, bint seal):
    """Write runs of v2 batches one after another to `out`; run i has the rows order[ends[i - 1]:ends[i]].

    Offsets in each batch count from 0. Each row of `table` already has the rest of its batch's header, and gets
    position, size, count, lastOffsetDelta and timestamps. With `seal`, header and CRC are written too; otherwise the
    header's bytes are left unchanged. `ends` becomes the number of batches up to each run's end. Returns (code, batches
    written, end position).
    """
    cdef Arrays arrays
    cdef Batch *batches
    cdef int32_t *rows
    cdef int64_t *run_ends
    cdef uint8_t *base
    cdef int64_t length = 0, size = 0, count, runs, table_rows, i, batch = 0, place = 0, at = 0
    cdef int code = DONE
    pin_columns(&arrays, columns, PyBUF_SIMPLE)
    try:
        check_columns(&arrays, 0, arrays.rows)
        rows = <int32_t *>pin(&arrays, order, PyBUF_SIMPLE, &size)
        count = size // 4
        run_ends = <int64_t *>pin(&arrays, ends, PyBUF_WRITABLE, &size)
        runs = size // 8
        batches = <Batch *>pin(&arrays, table, PyBUF_WRITABLE, &size)
        table_rows = size // sizeof(Batch)
        base = <uint8_t *>pin(&arrays, out, PyBUF_WRITABLE, &length)
        for i in range(count):
            if not 0 <= rows[i] < arrays.rows:
                raise ValueError(f"the order has row {rows[i]}, but there are {arrays.rows} rows")
        for i in range(runs):
            if not (run_ends[i - 1] if i else 0) <= run_ends[i] <= count:
                raise ValueError(f"run {i} ends at {run_ends[i]}, expected {run_ends[i - 1] if i else 0} to {count} "
                                 "(rows in the order)")
        with nogil:
            for i in range(runs):
                while place < run_ends[i]:
                    if batch == table_rows:
                        code = FULL
                        break
                    batches[batch].position = at
                    place = fill_batch(&arrays, rows, place, run_ends[i], &batches[batch], batch_size, base, length, &code)
                    if code != DONE:
                        break
                    if seal:
                        seal_batch(base + at, &batches[batch])
                    at += batches[batch].size
                    batch += 1
                if code != DONE:
                    break
                run_ends[i] = batch
    finally:
        unpin(&arrays)
    return code, batch, at
