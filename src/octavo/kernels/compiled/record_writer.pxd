"""Writes a row of the columns as a v2 record."""

from octavo.kernels.compiled.arrays cimport *
from octavo.kernels.compiled.varint cimport *


cdef inline uint8_t *write_bytes(uint8_t *p, const Binary *column, int64_t row, int64_t length) noexcept nogil:
    p = write_uvarlong(p, zigzag(<int32_t>length))
    if length > 0:
        copy(p, column.data + column.offsets[row], length)
        p += length
    return p


cdef inline uint8_t *write_record(uint8_t *p, const Arrays *source, int64_t row, int64_t body, uint64_t timestamp,
                                  int32_t delta) noexcept nogil:
    """Write a record whose length field is `body`, into a buffer with enough room. The timestamp is a zigzag delta."""
    cdef int64_t first = 0, last = 0, header
    p = write_uvarlong(p, zigzag(<int32_t>body))
    p[0] = 0
    p = write_uvarlong(p + 1, timestamp)
    p = write_uvarlong(p, zigzag(delta))
    p = write_bytes(p, &source.key, row, length_at(&source.key, row))
    p = write_bytes(p, &source.value, row, length_at(&source.value, row))
    if source.header_offsets != NULL:
        first, last = source.header_offsets[row], source.header_offsets[row + 1]
    p = write_uvarlong(p, zigzag(<int32_t>(last - first)))
    for header in range(first, last):
        p = write_bytes(p, &source.header_key, header, length_at(&source.header_key, header))
        p = write_bytes(p, &source.header_value, header, length_at(&source.header_value, header))
    return p
