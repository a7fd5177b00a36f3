"""Compaction's filter: keeps the surviving records of v2 batches, and writes the batches that hold them."""

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from octavo.kernels.compiled.batch_header cimport *
from octavo.kernels.compiled.buffers cimport *
from octavo.kernels.compiled.checksums cimport *
from octavo.kernels.compiled.layout cimport *
from octavo.kernels.compiled.offset_table cimport *
from octavo.kernels.compiled.record_fields cimport *

checksums_prepare()


cdef enum:
    AHEAD = 512  # about this many records are read and their slots fetched before the first of them is looked up
    KEPT_ATTRIBUTES = 0x38  # LOG_APPEND_TIME | TRANSACTIONAL | CONTROL

cdef enum BatchVerdict:
    DISCARD_RECORDS = 1
    RETAIN_EMPTY = 2
    MARKER_OF_NOTHING = 4

cdef enum Fate:
    GONE = 0
    WHOLE = 1
    EMPTIED = 2
    REBUILT = 3


cdef struct FilterState:
    int64_t now_ms
    int64_t delete_horizon_ms
    int64_t end_position
    int64_t batches
    int64_t records_read
    int64_t records_kept
    int64_t records_without_key


cdef struct Candidate:
    Fields fields
    int64_t offset
    bint keep


cdef struct Candidates:
    Candidate *records
    key_ref *keys  # of the records that must be looked up, side by side so that they are hashed together
    int64_t room


cdef struct Source:
    const uint8_t *data  # the batches
    int64_t length
    const uint8_t *records  # the buffer that holds their records
    int64_t records_length
    const Batch *batches
    const uint8_t *verdicts
    uint8_t *fates
    const int64_t *starts
    const int64_t *ends
    Py_ssize_t count


cdef struct Target:
    uint8_t *out
    int64_t room
    Batch *table
    int64_t rows
    FilterState *state


cdef inline bint area_of(const Source *source, Py_ssize_t i, int64_t *start, int64_t *end) noexcept nogil:
    """Where a batch's records lie; False if the batch or its records are not inside their buffers."""
    cdef const Batch *batch = source.batches + i
    if batch.size < BATCH_OVERHEAD or not 0 <= batch.position <= source.length - batch.size:
        return False
    if source.starts != NULL:
        start[0], end[0] = source.starts[i], source.ends[i]
    else:
        start[0], end[0] = batch.position + BATCH_OVERHEAD, batch.position + batch.size
    return 0 <= start[0] <= end[0] <= source.records_length


cdef inline bint is_marked(const Table *map, const Batch *batch) noexcept nogil:
    """Whether the marks show which of the batch's records are superseded.

    They do not if its keys were not put into the table: such a batch is marked odd at both ends. (So are some other
    batches; looking up their keys does no harm.)
    """
    cdef int64_t first = batch.base_offset - map.state.marks_from, last = batch.base_offset + batch.last_offset_delta
    return (not batch.attributes & CONTROL and first >= 0 and batch.last_offset_delta >= 0
            and first + batch.last_offset_delta < map.state.marks and last <= map.state.latest_offset
            and not (has_mark(map, map.odd, batch.base_offset) and has_mark(map, map.odd, last)))


cdef inline int foreseen(const Table *map, const Batch *batch, uint8_t verdict) noexcept nogil:
    """The fate of a batch if it is known without its records: GONE, WHOLE or EMPTIED; otherwise -1."""
    cdef int64_t first = batch.base_offset - map.state.marks_from, end = first + batch.last_offset_delta + 1
    if verdict & DISCARD_RECORDS or batch.count == 0:
        return EMPTIED if verdict & RETAIN_EMPTY else GONE
    if batch.count < 0 or not is_marked(map, batch) or count_bits(map.odd, first, end):
        return -1
    end = count_bits(map.superseded, first, end)
    if end == 0 and batch.count <= batch.last_offset_delta + 1:
        return WHOLE
    return (EMPTIED if verdict & RETAIN_EMPTY else GONE) if end == batch.count else -1


def foresee_fates(offset_table, table, verdicts, fates):
    """Write to `fates` (int8) the fate of each v2 batch if it is known without the records, otherwise -1."""
    cdef Table map
    cdef Py_buffer views[3]
    cdef int pinned = 0
    cdef Py_ssize_t i
    pin_table(&map, offset_table)
    try:
        for buffer, flags in ((table, PyBUF_SIMPLE), (verdicts, PyBUF_SIMPLE), (fates, PyBUF_WRITABLE)):
            pin_buffer(views, &pinned, buffer, flags)
        if min(views[1].len, views[2].len) < views[0].len // <Py_ssize_t>sizeof(Batch):
            raise ValueError("a verdict and a fate are needed for each batch")
        with nogil:
            for i in range(views[0].len // <Py_ssize_t>sizeof(Batch)):
                (<int8_t *>views[2].buf)[i] = <int8_t>foreseen(&map, <const Batch *>views[0].buf + i,
                                                               (<const uint8_t *>views[1].buf)[i])
    finally:
        release_buffers(views, &pinned)
        unpin_table(&map)


cdef int read_batch(const Source *source, Py_ssize_t i, Candidate *candidates, key_ref *keys,
                    Problem *problem) noexcept nogil:
    """Read the records of a batch, and their keys if they have to be looked up."""
    cdef const Batch *batch = source.batches + i
    cdef const uint8_t *p
    cdef const uint8_t *end
    cdef int64_t start = 0, stop = 0
    cdef int32_t n
    area_of(source, i, &start, &stop)
    p, end = source.records + start, source.records + stop
    if batch.count < 0:
        return fail(problem, NEGATIVE_COUNT, start, batch.count)
    if <int64_t>batch.count * MIN_RECORD_BYTES > stop - start:
        return fail(problem, TOO_MANY_RECORDS, start, batch.count)
    for n in range(batch.count):
        prefetch_ahead(p)
        p = read_record(source.records, p, end, &candidates[n].fields, problem)
        if p == NULL:
            return problem.code
        candidates[n].offset = <int64_t>(<uint64_t>batch.base_offset + <uint64_t><int64_t>candidates[n].fields.offset_delta)
        if keys != NULL:
            keys[n].bytes, keys[n].length = candidates[n].fields.key, <size_t>max(candidates[n].fields.key_length, 0)
    if batch.count and p != end:
        return fail(problem, TRAILING_BYTES, p - source.records, end - p)
    return DONE


cdef int64_t judge(const Table *map, const Batch *batch, Candidate *candidates, const key_ref *keys,
                   FilterState *state, bint *has_tombstones) noexcept nogil:
    """Decide about each record; returns how many stay. Without keys, the marks decide."""
    cdef int64_t kept = 0
    cdef int32_t n
    cdef bint keeps_tombstones = not batch.attributes & DELETE_HORIZON or state.now_ms < batch.base_timestamp
    has_tombstones[0] = False
    for n in range(batch.count):
        if batch.attributes & CONTROL or candidates[n].offset > map.state.latest_offset:
            candidates[n].keep = True
        elif candidates[n].fields.key_length < 0:
            candidates[n].keep = False
            state.records_without_key += 1
        elif not keeps_tombstones and candidates[n].fields.value_length < 0:
            candidates[n].keep = False
        elif keys == NULL:
            candidates[n].keep = not has_mark(map, map.superseded, candidates[n].offset)
        else:
            candidates[n].keep = candidates[n].offset >= find_offset(map, keys[n].hash)
        if candidates[n].keep:
            kept += 1
            has_tombstones[0] = has_tombstones[0] or candidates[n].fields.value_length < 0
    state.records_read += batch.count
    state.records_kept += kept
    return kept


cdef int rebuild(const Source *source, const Batch *batch, const Candidate *candidates, int32_t kept,
                 int64_t horizon_ms, uint8_t *p, Batch *row, Problem *problem) noexcept nogil:
    """Write a batch with the records that stay: offsets and sequence are unchanged, the base timestamp may change.

    Records are not compressed here; if the attributes name a codec, the caller compresses them and writes the header.
    """
    cdef uint8_t *at = p + BATCH_OVERHEAD
    cdef int64_t timestamp
    cdef int32_t n
    cdef bint is_first = True, is_minimal
    row.attributes = batch.attributes & (CODEC_MASK | KEPT_ATTRIBUTES)
    row.base_timestamp, row.count = horizon_ms, kept
    if horizon_ms >= 0:
        row.attributes |= DELETE_HORIZON
    if not batch.attributes & LOG_APPEND_TIME:
        row.max_timestamp = -1
    for n in range(batch.count):
        if not candidates[n].keep:
            continue
        if batch.attributes & LOG_APPEND_TIME:
            timestamp = batch.max_timestamp
        else:
            timestamp = <int64_t>(<uint64_t>batch.base_timestamp + <uint64_t>candidates[n].fields.timestamp_delta)
            row.max_timestamp = max(row.max_timestamp, timestamp)
        if is_first and horizon_ms < 0:
            row.base_timestamp = timestamp
        is_first = False
        if check_tail(source.records, &candidates[n].fields, &is_minimal, problem) != DONE:
            return problem.code
        at = write_record(at, &candidates[n].fields, <int64_t>(<uint64_t>timestamp - <uint64_t>row.base_timestamp),
                          is_minimal)
    row.size = <int32_t>(at - p)
    if not batch.attributes & CODEC_MASK:
        seal_batch(p, row)
    return DONE


cdef void empty(const Batch *batch, uint8_t *p, Batch *row) noexcept nogil:
    row.attributes = batch.attributes & KEPT_ATTRIBUTES
    row.base_timestamp, row.count, row.size = -1, 0, BATCH_OVERHEAD
    seal_batch(p, row)


cdef int settle(const Table *map, const Source *source, Py_ssize_t i, Candidate *candidates, const key_ref *keys,
                Target *target, Problem *problem) noexcept nogil:
    """Write what survives of a batch, if anything; FULL if there is no room for it."""
    cdef const Batch *batch = source.batches + i
    cdef FilterState *state = target.state
    cdef uint8_t verdict = source.verdicts[i]
    cdef int fate = foreseen(map, batch, verdict)
    cdef int64_t kept = 0, horizon_ms = -1, start = 0, stop = 0, needed
    cdef bint has_tombstones = False, needs_horizon
    cdef uint8_t *p = target.out + state.end_position
    cdef Batch *row
    area_of(source, i, &start, &stop)
    needed = BATCH_OVERHEAD + stop - start
    if fate < 0:
        needed += <int64_t>batch.count * MAX_RECORD_GROWTH
    needed = max(needed, <int64_t>batch.size)
    if state.batches >= target.rows or needed > target.room - state.end_position or needed > MAX_FILE_BYTES:
        return fail(problem, FULL, 0, 0)
    if fate < 0:
        kept = judge(map, batch, candidates, keys, state, &has_tombstones)
    elif not verdict & DISCARD_RECORDS:
        kept = batch.count if fate == WHOLE else 0
        state.records_read += batch.count
        state.records_kept += kept
    row = target.table + state.batches
    row[0] = batch[0]
    row.position = state.end_position
    if kept == 0:
        source.fates[i] = EMPTIED if verdict & RETAIN_EMPTY else GONE
        if source.fates[i] == GONE:
            return DONE
        empty(batch, p, row)
    else:
        needs_horizon = (has_tombstones or verdict & MARKER_OF_NOTHING) and not batch.attributes & DELETE_HORIZON
        if kept == batch.count and not needs_horizon:
            source.fates[i] = WHOLE
            memcpy(p, source.data + batch.position, <size_t>batch.size)
        else:
            source.fates[i] = REBUILT
            if needs_horizon:
                horizon_ms = state.delete_horizon_ms
            elif batch.attributes & DELETE_HORIZON:
                horizon_ms = batch.base_timestamp
            if rebuild(source, batch, candidates, <int32_t>kept, horizon_ms, p, row, problem) != DONE:
                return problem.code
    state.end_position += row.size
    state.batches += 1
    return DONE


cdef Py_ssize_t filter_all(const Table *map, const Source *source, const Candidates *candidates, Target *target,
                           Problem *problem) noexcept nogil:
    """Filter batches; returns the first one not filtered."""
    cdef Py_ssize_t i = 0, end
    cdef int64_t read, looked_up
    cdef bint marked
    cdef Problem damage = Problem(DONE, 0, 0)
    while i < source.count and damage.code == DONE:
        end, read, looked_up = i, 0, 0
        while end < source.count and (end == i or read < AHEAD):
            if foreseen(map, source.batches + end, source.verdicts[end]) < 0:
                if end > i and read + source.batches[end].count > candidates.room:
                    break
                marked = is_marked(map, source.batches + end)
                if read_batch(source, end, candidates.records + read, NULL if marked else candidates.keys + looked_up,
                              &damage) != DONE:
                    break
                read += source.batches[end].count
                looked_up += 0 if marked else source.batches[end].count
            end += 1
        hash_keys(map, candidates.keys, <size_t>looked_up)
        read, looked_up = 0, 0
        while i < end:  # everything before a damaged batch is settled in any case
            marked = is_marked(map, source.batches + i)
            if settle(map, source, i, candidates.records + read, NULL if marked else candidates.keys + looked_up,
                      target, problem) != DONE:
                return i
            if foreseen(map, source.batches + i, source.verdicts[i]) < 0:
                read += source.batches[i].count
                looked_up += 0 if marked else source.batches[i].count
            i += 1
    problem[0] = damage
    return i


def filter_batches(offset_table, run, data, table, verdicts, fates, unpacked=None, starts=None, ends=None):
    """Append the surviving parts of v2 batches to the run, and write to `fates` (one byte each) what happened to them.

    `verdicts` (one byte each) are `BatchVerdict`s. Records that were compressed lie in `unpacked` between `starts` and
    `ends`; if such a batch is rebuilt, it is written uncompressed, and the caller compresses it and writes its header.
    Returns an `Outcome`; FULL: the run has no room for the returned batch. Whatever the code, the batches before it are
    done.
    """
    cdef Table map
    cdef Source source
    cdef Target target
    cdef Problem problem = Problem(DONE, 0, 0)
    cdef Py_buffer views[10]
    cdef Candidates candidates
    cdef int64_t start = 0, end = 0
    cdef Py_ssize_t i
    cdef int pinned = 0
    candidates.records, candidates.keys, candidates.room = NULL, NULL, 2 * AHEAD
    pin_table(&map, offset_table)
    try:
        for buffer, flags in ((data, PyBUF_SIMPLE), (table, PyBUF_SIMPLE), (verdicts, PyBUF_SIMPLE), (fates, PyBUF_WRITABLE),
                              (run.out, PyBUF_WRITABLE), (run.table, PyBUF_WRITABLE), (run.state, PyBUF_WRITABLE),
                              (unpacked, PyBUF_SIMPLE), (starts, PyBUF_SIMPLE), (ends, PyBUF_SIMPLE)):
            if buffer is not None:
                pin_buffer(views, &pinned, buffer, flags)
        source.data, source.length = <const uint8_t *>views[0].buf, views[0].len
        source.batches, source.verdicts = <const Batch *>views[1].buf, <const uint8_t *>views[2].buf
        source.fates = <uint8_t *>views[3].buf
        source.count = min(views[1].len // <Py_ssize_t>sizeof(Batch), views[2].len, views[3].len)
        target = Target(<uint8_t *>views[4].buf, views[4].len, <Batch *>views[5].buf,
                        views[5].len // <Py_ssize_t>sizeof(Batch), <FilterState *>views[6].buf)
        source.records, source.records_length, source.starts, source.ends = source.data, source.length, NULL, NULL
        if pinned == 10:
            source.records, source.records_length = <const uint8_t *>views[7].buf, views[7].len
            source.starts, source.ends = <const int64_t *>views[8].buf, <const int64_t *>views[9].buf
            source.count = min(source.count, views[8].len // 8, views[9].len // 8)
        if pinned not in (7, 10):
            raise ValueError("unpacked, starts and ends must be given together")
        if views[6].len != sizeof(FilterState):
            raise ValueError(f"the run's state has {views[6].len // 8} values, expected {sizeof(FilterState) // 8}")
        if not 0 <= target.state.end_position <= target.room or target.state.batches < 0:
            found = f"{target.state.batches} batches in {target.state.end_position} bytes"
            raise ValueError(f"the run has {found}, expected 0 or more in at most {target.room} bytes")
        for i in range(source.count):
            if not area_of(&source, i, &start, &end):
                raise ValueError(f"batch {i} does not lie inside its buffer")
            if source.batches[i].count * <int64_t>MIN_RECORD_BYTES <= end - start:
                candidates.room = max(candidates.room, <int64_t>source.batches[i].count)
        candidates.records = <Candidate *>malloc(<size_t>candidates.room * sizeof(Candidate))
        candidates.keys = <key_ref *>malloc(<size_t>candidates.room * sizeof(key_ref))
        if candidates.records == NULL or candidates.keys == NULL:
            raise MemoryError(f"no memory for {candidates.room} records at a time")
        with nogil:
            i = filter_all(&map, &source, &candidates, &target, &problem)
    finally:
        free(candidates.records)
        free(candidates.keys)
        release_buffers(views, &pinned)
        unpin_table(&map)
    return problem.code, i, problem.position, problem.found
