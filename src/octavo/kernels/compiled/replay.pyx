"""Replays the batches of a log onto the producers' state, and recognises batches that simply continue a producer's
sequence."""

from libc.string cimport memmove, memset

from octavo.kernels.compiled.producers cimport *


cdef uint64_t HASH_MULTIPLIER = 0x9E3779B97F4A7C15u


cdef inline Producer *find(const Producers *all, int64_t producer_id, uint64_t *slot) noexcept nogil:
    """The producer's entry, and where its index is or belongs; NULL if it is unknown."""
    slot[0] = (<uint64_t>producer_id * HASH_MULTIPLIER) >> all.shift & all.mask
    while 0 <= all.slots[slot[0]] < all.count:
        if all.entries[all.slots[slot[0]]].producer_id == producer_id:
            return all.entries + all.slots[slot[0]]
        slot[0] = (slot[0] + 1) & all.mask
    return NULL


cdef inline Producer *find_or_add(Producers *all, const Producers *known, int64_t producer_id) noexcept nogil:
    """The producer's entry, a new one if necessary; NULL if there is no room for it."""
    cdef uint64_t slot = 0, known_slot = 0
    cdef Producer *entry = find(all, producer_id, &slot)
    cdef Producer *before
    if entry != NULL or all.count == all.capacity:
        return entry
    all.slots[slot] = <int32_t>all.count
    entry = all.entries + all.count
    all.count += 1
    before = find(known, producer_id, &known_slot)
    if before != NULL:
        entry[0] = before[0]
        entry.batch_count = entry.next_batch = 0
        return entry
    memset(entry, 0, sizeof(Producer))
    entry.producer_id = producer_id
    entry.last_timestamp, entry.current_txn_first_offset, entry.coordinator_epoch, entry.epoch = NONE, NONE, NONE, NONE
    return entry


cdef inline int32_t last_sequence(int32_t base, int32_t delta) noexcept nogil:
    """The last sequence as Kafka computes it, in 32 bits; see `octavo.format.sequence`."""
    cdef uint32_t largest = 2147483647
    if base == NONE:
        return NONE
    if base > <int32_t>(largest - <uint32_t>delta):
        return <int32_t>(<uint32_t>delta - (largest - <uint32_t>base) - 1)
    return <int32_t>(<uint32_t>base + <uint32_t>delta)


cdef inline void set_epoch(Producer *entry, int16_t epoch) noexcept nogil:
    """Set the producer's epoch and, if it changes, forget the batches of the one before."""
    if entry.epoch != epoch:
        entry.epoch = epoch
        entry.batch_count = entry.next_batch = 0


cdef inline void begin(Producers *all, int64_t first_offset, int64_t producer_id) noexcept nogil:
    """Insert the transaction in order: at the end, unless offsets go backwards."""
    cdef int64_t at = all.ongoing_count
    while at and all.ongoing[at - 1].first_offset > first_offset:
        all.ongoing[at] = all.ongoing[at - 1]
        at -= 1
    all.ongoing[at].first_offset, all.ongoing[at].producer_id = first_offset, producer_id
    all.ongoing_count += 1


cdef inline int64_t complete(Producers *all, int64_t producer_id, int64_t after_marker) noexcept nogil:
    """Remove the producer's transaction; returns the first offset of the earliest other one, or `after_marker`."""
    cdef int64_t at = 0
    while at < all.ongoing_count and all.ongoing[at].producer_id != producer_id:
        at += 1
    if at < all.ongoing_count:
        all.ongoing_count -= 1
        memmove(all.ongoing + at, all.ongoing + at + 1, <size_t>(all.ongoing_count - at) * sizeof(Ongoing))
    return all.ongoing[0].first_offset if all.ongoing_count else after_marker


cdef inline int add_batch(Producers *all, Producer *entry, const Batch *batch) noexcept nogil:
    """Add a data batch to its producer's entry; within a transaction every batch must be transactional."""
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
        return  # emptied by compaction, after the whole transaction was gone
    set_epoch(entry, epoch)
    marker.first_offset = entry.current_txn_first_offset
    if marker.first_offset != NONE:
        marker.last_stable_offset = complete(all, entry.producer_id, <int64_t>(<uint64_t>marker.offset + 1))
    entry.coordinator_epoch = marker.coordinator_epoch
    entry.last_timestamp = marker.timestamp
    entry.current_txn_first_offset = NONE


cdef int pin_producers(Py_buffer *views, int *pinned, producers, int flags, Producers *all) except -1:
    """Pin the arrays, and check what keeps the loops inside them: there is always a free slot, and room for a
    transaction of each producer."""
    cdef int64_t slots, transactions, bits = 0
    cdef int first = pinned[0]
    for array in (producers.entries, producers.slots, producers.ongoing):
        pin_buffer(views, pinned, array, flags)
    slots, transactions = views[first + 1].len // sizeof(int32_t), views[first + 2].len // sizeof(Ongoing)
    while bits < 31 and <int64_t>1 << bits < slots:
        bits += 1
    all.entries, all.capacity = <Producer *>views[first].buf, views[first].len // sizeof(Producer)
    all.slots, all.mask, all.shift = <int32_t *>views[first + 1].buf, slots - 1, min(64 - bits, 63)
    all.ongoing, all.capacity = <Ongoing *>views[first + 2].buf, min(all.capacity, transactions)
    all.count, all.ongoing_count = producers.count, producers.ongoing_count
    if slots != <int64_t>1 << bits or not 0 <= all.ongoing_count <= all.count <= all.capacity or all.capacity >= slots:
        raise ValueError(f"producer arrays that do not fit together: {all.count} of {all.capacity} producers, "
                         f"{all.ongoing_count} transactions, {slots} slots")
    return 0


def replay(table, markers, producers, Py_ssize_t row=0, Py_ssize_t marker=0, known=None):
    """Apply the batches of `table` from `row` on; returns (Replayed, next row, next marker).

    The batches were accepted once, so only what no log may hold is checked. `markers` has a row for each control batch
    with a producer id; the row receives the first offset of the transaction that the batch ended (-1: none) and, if
    there is one, the last stable offset after it. Batches without a producer id are skipped. A new producer that is
    among the `known` ones starts with its state there, but without batches; `known` does not change.
    """
    cdef Producers all, others
    cdef Producer *entry = NULL
    cdef Py_buffer views[8]
    cdef int pinned = 0, code = DONE
    cdef const Batch *batch
    cdef const Batch *batches
    cdef Marker *ends
    cdef Py_ssize_t rows, markers_there
    cdef bint is_control
    if row < 0 or marker < 0:
        raise ValueError(f"row {row} and marker {marker}, expected 0 or more")
    try:
        pin_buffer(views, &pinned, table, PyBUF_SIMPLE)
        pin_buffer(views, &pinned, markers, PyBUF_WRITABLE)
        pin_producers(views, &pinned, producers, PyBUF_WRITABLE, &all)
        others = all
        others.count = 0
        if known is not None:
            pin_producers(views, &pinned, known, PyBUF_SIMPLE, &others)
        batches, rows = <const Batch *>views[0].buf, views[0].len // sizeof(Batch)
        ends, markers_there = <Marker *>views[1].buf, views[1].len // sizeof(Marker)
        with nogil:
            while row < rows:
                batch = batches + row
                if batch.producer_id < 0:
                    row += 1
                    continue
                is_control = batch.attributes & CONTROL
                if is_control and marker >= markers_there:
                    code = MARKER_MISSING
                    break
                if entry == NULL or entry.producer_id != batch.producer_id:
                    entry = find_or_add(&all, &others, batch.producer_id)
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
        release_buffers(views, &pinned)
    return code, row, marker


cdef inline bint is_cached(const Producer *entry, const Batch *batch) noexcept nogil:
    """Whether the batch is one of the producer's last ones, sent again."""
    cdef int i
    for i in range(entry.batch_count):
        if (entry.batches[i].last_sequence == last_sequence(batch.base_sequence, batch.last_offset_delta)
                and entry.batches[i].offset_delta == batch.last_offset_delta):
            return True
    return False


def continues(table, producers):
    """Whether all batches are data from one known producer that continues in its epoch with the next sequences.

    No transaction begins or ends with them, and none of them is among the producer's last batches, so no rule about
    producers could refuse them.
    """
    cdef Producers all
    cdef const Producer *entry = NULL
    cdef Py_buffer views[4]
    cdef int pinned = 0
    cdef const Batch *batch
    cdef Py_ssize_t i, rows
    cdef uint64_t slot = 0
    cdef int32_t last
    cdef int16_t flags
    cdef bint sound = False
    try:
        pin_buffer(views, &pinned, table, PyBUF_SIMPLE)
        pin_producers(views, &pinned, producers, PyBUF_SIMPLE, &all)
        batch, rows = <const Batch *>views[0].buf, views[0].len // sizeof(Batch)
        if rows and batch.producer_id >= 0:
            entry = find(&all, batch.producer_id, &slot)
        if entry != NULL and 0 < entry.batch_count <= CACHED_BATCHES and entry.next_batch < CACHED_BATCHES:
            flags = TRANSACTIONAL if entry.current_txn_first_offset != NONE else 0
            last = entry.batches[entry.next_batch - 1 if entry.next_batch else CACHED_BATCHES - 1].last_sequence
            sound = last >= 0
            for i in range(rows):
                sound = (sound and batch.producer_id == entry.producer_id and batch.producer_epoch == entry.epoch
                         and batch.attributes & (TRANSACTIONAL | CONTROL) == flags and batch.last_offset_delta >= 0
                         and batch.base_sequence == last_sequence(last, 1) and not is_cached(entry, batch))
                last = last_sequence(batch.base_sequence, batch.last_offset_delta)
                batch += 1
    finally:
        release_buffers(views, &pinned)
    return sound
