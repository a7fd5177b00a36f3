"""The table of `offset_table.py` as pointers: hashes a key, finds its slot, puts an offset into it."""

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from octavo.kernels.compiled.buffers cimport *


cdef extern from "key_hash.h" nogil:
    struct key_ref:
        const uint8_t *bytes
        size_t length
        uint64_t hash[2]
    void siphash_keys(key_ref *keys, size_t count, uint64_t key0, uint64_t key1)
    void md5_of(const uint8_t *p, size_t n, uint8_t *digest)
    uint64_t scaled(uint64_t hash, uint64_t n)
    void prefetch(const void *p)
    void prefetch_ahead(const void *p)
    int64_t count_bits(const uint8_t *bits, int64_t start, int64_t end)


cdef enum:
    SLOT_BYTES = 24
    MD5_LAST_PROBE = 12  # where the last int32 of the hash begins; later probes count up from it
    GROWTH = 4

cdef enum KeyHash:
    SIPHASH = 0
    MD5 = 1


cdef struct TableState:
    int64_t hash
    uint64_t key0
    uint64_t key1
    int64_t slots
    int64_t most_slots
    int64_t capacity
    int64_t size
    int64_t latest_offset
    int64_t marks_from
    int64_t marking
    int64_t marks


cdef struct Slot:
    uint64_t first  # this and `second` are 0: empty
    uint64_t second
    uint64_t offset  # big-endian with MD5, like Kafka's


cdef struct Table:
    Slot *slots
    TableState *state
    uint8_t *superseded
    uint8_t *odd
    int pinned
    Py_buffer views[4]


cdef inline int pin_table(Table *table, offset_table) except -1:
    table.pinned = 0
    try:
        for buffer, flags in ((offset_table.slots, PyBUF_SIMPLE), (offset_table.state, PyBUF_WRITABLE),
                              (offset_table.superseded, PyBUF_SIMPLE), (offset_table.odd, PyBUF_SIMPLE)):
            pin_buffer(table.views, &table.pinned, buffer, flags)
        table.slots, table.state = <Slot *>table.views[0].buf, <TableState *>table.views[1].buf
        table.superseded, table.odd = <uint8_t *>table.views[2].buf, <uint8_t *>table.views[3].buf
        if (table.views[1].len != sizeof(TableState) or not 0 < table.state.slots <= table.state.most_slots
                or table.state.most_slots > table.views[0].len // SLOT_BYTES or <size_t>table.slots % sizeof(uint64_t)
                or table.state.most_slots > 2147483647
                or not 0 <= table.state.marks <= table.state.marking
                or table.state.marking > 8 * min(table.views[2].len, table.views[3].len)):
            raise ValueError("an offset table needs aligned memory for one slot or more: make it with OffsetTable.empty")
    except BaseException:
        unpin_table(table)
        raise
    return 0


cdef inline void unpin_table(Table *table) noexcept:
    release_buffers(table.views, &table.pinned)


cdef inline void mark(const Table *table, uint8_t *bits, int64_t offset) noexcept nogil:
    cdef uint64_t place = <uint64_t>offset - <uint64_t>table.state.marks_from
    if place < <uint64_t>table.state.marking:
        bits[place >> 3] |= <uint8_t>(1 << (place & 7))


cdef inline bint has_mark(const Table *table, const uint8_t *bits, int64_t offset) noexcept nogil:
    """Whether an offset, which must lie in the marked part, has the mark."""
    cdef int64_t place = offset - table.state.marks_from
    return bits[place >> 3] >> (place & 7) & 1


cdef inline uint64_t probe_md5(const Table *table, const uint64_t *hash, int64_t attempt) noexcept nogil:
    """The slot that Kafka probes at this attempt."""
    cdef int64_t number
    if attempt <= MD5_LAST_PROBE:
        number = <int32_t>load_be32(<const uint8_t *>hash + attempt)
    else:
        number = <int32_t>(load_be32(<const uint8_t *>hash + MD5_LAST_PROBE) + <uint32_t>(attempt - MD5_LAST_PROBE))
    if number == -2147483648:
        number = 0
    return <uint64_t>(number if number >= 0 else -number) % <uint64_t>table.state.slots


cdef inline void prefetch_slot(const Table *table, const uint64_t *hash) noexcept nogil:
    if table.state.hash == MD5:
        prefetch(table.slots + probe_md5(table, hash, 0))
    else:
        prefetch(table.slots + scaled(hash[0], <uint64_t>table.state.slots))


cdef inline void hash_keys(const Table *table, key_ref *keys, size_t count) noexcept nogil:
    """Hash the keys, and fetch their slots into the CPU's cache."""
    cdef size_t i
    if table.state.hash == MD5:
        for i in range(count):
            md5_of(keys[i].bytes, keys[i].length, <uint8_t *>keys[i].hash)
    else:
        siphash_keys(keys, count, table.state.key0, table.state.key1)
    for i in range(count):
        if keys[i].hash[0] == 0 and keys[i].hash[1] == 0:
            keys[i].hash[0] = 1  # all zeros would mean an empty slot
        prefetch_slot(table, keys[i].hash)


cdef inline Slot *find_slot_md5(const Table *table, const uint64_t *hash) noexcept nogil:
    cdef int64_t attempt
    cdef Slot *slot
    for attempt in range(table.state.slots + MD5_LAST_PROBE):
        slot = table.slots + probe_md5(table, hash, attempt)
        if slot.first == hash[0] and slot.second == hash[1]:
            return slot
        if slot.first == 0 and slot.second == 0 and slot.offset == 0:
            return slot
    return NULL


cdef inline Slot *find_slot(const Table *table, const uint64_t *hash) noexcept nogil:
    """The key's slot, or the empty one where it belongs; NULL if there is neither. Without MD5, probes slot by slot."""
    cdef Slot *slot
    cdef Slot *end
    cdef int64_t left = table.state.slots
    if table.state.hash == MD5:
        return find_slot_md5(table, hash)
    slot, end = table.slots + scaled(hash[0], <uint64_t>left), table.slots + left
    while left:
        if (slot.first == hash[0] and slot.second == hash[1]) or (slot.first == 0 and slot.second == 0):
            return slot
        slot += 1
        if slot == end:
            slot = table.slots
        left -= 1
    return NULL


cdef inline bint is_key(const Slot *slot, const uint64_t *hash) noexcept nogil:
    return slot != NULL and slot.first == hash[0] and slot.second == hash[1]


cdef inline int64_t offset_in(const Table *table, const Slot *slot) noexcept nogil:
    return <int64_t>(load_be64(<const uint8_t *>&slot.offset) if table.state.hash == MD5 else slot.offset)


cdef inline void place(Table *table, const Slot *moved) noexcept nogil:
    cdef Slot *slot = find_slot(table, &moved.first)
    if slot != NULL:
        slot[0] = moved[0]


cdef inline void grow_table(Table *table) noexcept nogil:
    """Spread the keys over more slots of the same memory, so that only as much of it is touched as the keys need.

    A hash keeps its relative place among the slots, so most keys move up. They are moved from the last slot down, each
    to a place after all that have not moved yet; the few without such a place are inserted last.
    """
    cdef int64_t old = table.state.slots, slots = GROWTH * old, i, at
    cdef int64_t count = 0
    cdef Slot moved
    cdef Slot *spilled = <Slot *>malloc(<size_t>old * sizeof(Slot))  # only as much of it is touched as is needed
    if spilled == NULL:
        return
    table.state.slots = slots = table.state.most_slots if 2 * slots > table.state.most_slots else slots
    i = old - 1
    while i >= 0:
        moved = table.slots[i]
        if moved.first or moved.second:
            memset(table.slots + i, 0, sizeof(Slot))
            at = <int64_t>scaled(moved.first, <uint64_t>slots)
            while i < at < slots and (table.slots[at].first or table.slots[at].second):
                at += 1
            if i < at < slots:
                table.slots[at] = moved
            else:
                spilled[count] = moved
                count += 1
        i -= 1
    for i in range(count):
        place(table, &spilled[i])
    free(spilled)


cdef inline bint put_offset(Table *table, const uint64_t *hash, int64_t offset) noexcept nogil:
    """Set the key's offset; False if the table is full, even if the key is in it, as in Kafka."""
    cdef Slot *slot
    if table.state.size >= table.state.capacity:
        return False
    if 3 * table.state.size >= 2 * table.state.slots and table.state.slots < table.state.most_slots:
        grow_table(table)
    slot = find_slot(table, hash)
    if slot == NULL:
        return False
    if not is_key(slot, hash):
        slot.first, slot.second = hash[0], hash[1]
        table.state.size += 1
    if table.state.hash == MD5:
        store_be64(<uint8_t *>&slot.offset, <uint64_t>offset)
    else:
        slot.offset = <uint64_t>offset
    mark(table, table.superseded, offset)
    table.state.latest_offset = offset
    return True


cdef inline int64_t find_offset(const Table *table, const uint64_t *hash) noexcept nogil:
    """The key's offset; -1 if it has none."""
    cdef const Slot *slot = find_slot(table, hash)
    return offset_in(table, slot) if is_key(slot, hash) else -1
