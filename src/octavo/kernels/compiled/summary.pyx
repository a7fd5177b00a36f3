"""Summarizes all batches of a table at once."""

from octavo.kernels.compiled.buffers cimport *
from octavo.kernels.compiled.layout cimport *


def summarize_batches(table):
    """The fields of `layout.BATCH_SUMMARY` over the rows of a table.

    For an empty table they are 0, or -1 for offsets, epochs and times, or True for conditions on all batches.
    """
    cdef Py_buffer view
    cdef const Batch *rows
    cdef const Batch *row
    cdef Py_ssize_t i, count
    cdef int64_t last_offset = -1, next_offset, max_timestamp = -1, base_offset = -1, first_last_offset = -1, end = 0
    cdef int32_t max_size = 0, min_epoch = -1, max_epoch = -1, min_magic = 0, first_magic = 0, max_codec = 0
    cdef uint8_t flaws = 0
    cdef int16_t attributes = 0
    cdef bint from_zero = True, ascending = True, produced = True, with_producers = False
    PyObject_GetBuffer(table, &view, PyBUF_SIMPLE)
    rows, count = <const Batch *>view.buf, view.len // sizeof(Batch)
    with nogil:
        for i in range(count):
            row = rows + i
            flaws |= row.flaws
            attributes |= row.attributes
            max_codec = max(max_codec, row.attributes & CODEC_MASK)
            max_size = max(max_size, row.size) if i else row.size
            max_timestamp = max(max_timestamp, row.max_timestamp) if i else row.max_timestamp
            min_epoch = min(min_epoch, row.partition_leader_epoch) if i else row.partition_leader_epoch
            max_epoch = max(max_epoch, row.partition_leader_epoch) if i else row.partition_leader_epoch
            min_magic = min(min_magic, <int32_t>row.magic) if i else row.magic
            from_zero = from_zero and row.base_offset == 0
            next_offset = <int64_t>(<uint64_t>row.base_offset + <uint64_t><int64_t>row.last_offset_delta)
            ascending = ascending and next_offset > last_offset
            last_offset = next_offset
            produced = produced and not (row.count <= 0 or row.count - 1 != row.last_offset_delta
                                         or row.attributes & CONTROL
                                         or (row.producer_id > -1 and row.base_sequence < 0))
            with_producers = with_producers or row.producer_id > -1
        if count:
            row = rows + count - 1
            end = <int64_t>(<uint64_t>row.position + <uint64_t><int64_t>row.size)
            first_magic, base_offset = rows.magic, rows.base_offset
            first_last_offset = <int64_t>(<uint64_t>base_offset + <uint64_t><int64_t>rows.last_offset_delta)
    PyBuffer_Release(&view)
    return (flaws, attributes, max_codec, max_size, max_timestamp, min_epoch, max_epoch, min_magic, from_zero, ascending,
            produced, with_producers, first_magic, base_offset, first_last_offset, last_offset, end)
