"""Replay the batches of a log onto the producers' state."""

from libc.string cimport memmove, memset

from octavo.kernels.producers cimport *


cdef uint64_t HASH_MULTIPLIER = 0x9E3779B97F4A7C15u


cdef inline Producer *find_or_add(Producers *all, int64_t producer_id) noexcept nogil:
    """The producer's entry, a new one if need be; NULL where that has no room."""
    cdef uint64_t slot = (<uint64_t>producer_id * HASH_MULTIPLIER) >> all.shift & all.mask
    cdef Producer *entry
    while all.slots[slot] != NONE:
        if not 0 <= all.slots[slot] < all.count:
            return NULL
        entry = all.entries + all.slots[slot]
        if entry.producer_id == producer_id:
            return entry
        slot = (slot + 1) & all.mask
    if all.count == all.capacity:
        return NULL
    entry = all.entries + all.count
    memset(entry, 0, sizeof(Producer))
    entry.producer_id = producer_id
    entry.last_timestamp, entry.current_txn_first_offset, entry.coordinator_epoch, entry.epoch = NONE, NONE, NONE, NONE
    all.slots[slot] = <int32_t>all.count
    all.count += 1
    return entry


cdef inline int32_t last_sequence(int32_t base, int32_t delta) noexcept nogil:
    """As Kafka computes it, in 32 bits; `octavo.format.sequence` explains."""
    cdef uint32_t largest = 2147483647
    if base == NONE:
        return NONE
    if base > <int32_t>(largest - <uint32_t>delta):
        return <int32_t>(<uint32_t>delta - (largest - <uint32_t>base) - 1)
    return <int32_t>(<uint32_t>base + <uint32_t>delta)


cdef inline void set_epoch(Producer *entry, int16_t epoch) noexcept nogil:
    """A producer's batches are those of one epoch."""
    if entry.epoch != epoch:
        entry.epoch = epoch
        entry.batch_count = entry.next_batch = 0


cdef inline void begin(Producers *all, int64_t first_offset, int64_t producer_id) noexcept nogil:
    """Put the transaction into its place, the last one unless offsets go backwards."""
    cdef int64_t at = all.ongoing_count
    while at and all.ongoing[at - 1].first_offset > first_offset:
        all.ongoing[at] = all.ongoing[at - 1]
        at -= 1
    all.ongoing[at].first_offset, all.ongoing[at].producer_id = first_offset, producer_id
    all.ongoing_count += 1


cdef inline int64_t complete(Producers *all, int64_t producer_id, int64_t after_marker) noexcept nogil:
    """Take the producer's transaction out; returns where the earliest one of another begins, or `after_marker`."""
    cdef int64_t at = 0
    while at < all.ongoing_count and all.ongoing[at].producer_id != producer_id:
        at += 1
    if at < all.ongoing_count:
        all.ongoing_count -= 1
        memmove(all.ongoing + at, all.ongoing + at + 1, <size_t>(all.ongoing_count - at) * sizeof(Ongoing))
    return all.ongoing[0].first_offset if all.ongoing_count else after_marker


cdef inline int add_batch(Producers *all, Producer *entry, const Batch *batch) noexcept nogil:
    """Inside a transaction every batch of its producer is transactional."""
    cdef CachedBatch *cached
    cdef bint is_transactional = batch.attributes & TRANSACTIONAL
    cdef bint begins = is_transactional and entry.current_txn_first_offset == NONE and batch.base_offset != NONE
    if entry.current_txn_first_offset != NONE and not is_transactional:
        return NOT_TRANSACTIONAL
    if begins and all.ongoing_count == all.capacity:
        return FULL
    set_epoch(entry, batch.producer_epoch)
    cached = &entry.batches[entry.next_batch]
    cached.last_offset = <int64_t>(<uint64_t>batch.base_offset + <uint64_t><int64_t>batch.last_offset_delta)
    cached.timestamp = batch.max_timestamp
    cached.last_sequence = last_sequence(batch.base_sequence, batch.last_offset_delta)
    cached.offset_delta = batch.last_offset_delta
    entry.next_batch = <uint8_t>(entry.next_batch + 1 if entry.next_batch < CACHED_BATCHES - 1 else 0)
    entry.batch_count = <uint8_t>min(entry.batch_count + 1, CACHED_BATCHES)
    entry.last_timestamp = batch.max_timestamp
    if begins:
        entry.current_txn_first_offset = batch.base_offset
        begin(all, batch.base_offset, entry.producer_id)
    return DONE


cdef inline void end_transaction(Producers *all, Producer *entry, int16_t epoch, Marker *marker) noexcept nogil:
    marker.first_offset = NONE
    if marker.type == NONE:
        return  # compaction has emptied it, after the whole transaction was gone
    set_epoch(entry, epoch)
    marker.first_offset = entry.current_txn_first_offset
    if marker.first_offset != NONE:
        marker.last_stable_offset = complete(all, entry.producer_id, <int64_t>(<uint64_t>marker.offset + 1))
    entry.coordinator_epoch = marker.coordinator_epoch
    entry.last_timestamp = marker.timestamp
    entry.current_txn_first_offset = NONE


def replay(table, markers, producers, Py_ssize_t row=0, Py_ssize_t marker=0):
    """Take in the batches of `table` from `row` on; returns (Replayed, next row, next marker).

    Nothing is checked but what no log may hold: these batches were accepted once. `markers` has a row for each control
    batch of a producer, and is told which transaction it ended. Batches without a producer id are passed over.
    """
    cdef Producers all
    cdef Producer *entry = NULL
    cdef Py_buffer views[5]
    cdef int pinned = 0, code = DONE
    cdef const Batch *batch
    cdef const Batch *batches
    cdef Marker *ends
    cdef Py_ssize_t rows, markers_there
    cdef bint is_control, is_missing = False
    if row < 0 or marker < 0:
        raise ValueError(f"row {row} and marker {marker}, expected 0 or more")
    try:
        for array in (table, markers, producers.entries, producers.slots, producers.ongoing):
            PyObject_GetBuffer(array, &views[pinned], PyBUF_SIMPLE if pinned == 0 else PyBUF_WRITABLE)
            pinned += 1
        batches, rows = <const Batch *>views[0].buf, views[0].len // sizeof(Batch)
        ends, markers_there = <Marker *>views[1].buf, views[1].len // sizeof(Marker)
        all.entries, all.capacity = <Producer *>views[2].buf, views[2].len // sizeof(Producer)
        all.slots, all.mask = <int32_t *>views[3].buf, views[3].len // sizeof(int32_t) - 1
        all.ongoing, all.capacity = <Ongoing *>views[4].buf, min(all.capacity, views[4].len // sizeof(Ongoing))
        all.count, all.ongoing_count = producers.count, producers.ongoing_count
        require_consistent(&all, views[3].len // sizeof(int32_t))
        with nogil:
            while row < rows:
                batch = batches + row
                if batch.producer_id < 0:
                    row += 1
                    continue
                is_control = batch.attributes & CONTROL
                if is_control and marker >= markers_there:
                    is_missing = True
                    break
                if entry == NULL or entry.producer_id != batch.producer_id:
                    entry = find_or_add(&all, batch.producer_id)
                    if entry == NULL:
                        code = FULL
                        break
                if is_control:
                    end_transaction(&all, entry, batch.producer_epoch, ends + marker)
                    marker += 1
                else:
                    code = add_batch(&all, entry, batch)
                    if code != DONE:
                        break
                row += 1
        producers.count, producers.ongoing_count = all.count, all.ongoing_count
    finally:
        while pinned:
            pinned -= 1
            PyBuffer_Release(&views[pinned])
    if is_missing:
        raise ValueError(f"row {row} is a control batch, but there are {markers_there} markers")
    return code, row, marker


cdef int require_consistent(Producers *all, int64_t slots) except -1:
    """What keeps the loops inside the arrays: a free slot always, and room for a transaction of each producer."""
    cdef int bits = 0
    while bits < 31 and <int64_t>1 << bits < slots:
        bits += 1
    if slots != <int64_t>1 << bits or not 0 <= all.ongoing_count <= all.count <= all.capacity or all.capacity >= slots:
        raise ValueError(f"{all.count} producers of {all.capacity}, {all.ongoing_count} transactions, {slots} slots")
    all.shift = 64 - bits if bits else 63
    return 0
