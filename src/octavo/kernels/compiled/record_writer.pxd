"""Writes a row of the columns as a v2 record, and says how many bytes that takes."""

from octavo.kernels.compiled.arrays cimport *
from octavo.kernels.compiled.varint cimport *


cdef inline int64_t size_of_bytes(int64_t length) noexcept nogil:
    """The size of a key or value with its length; -1 means null."""
    return size_of_uvarlong(zigzag(<int32_t>length)) + (length if length > 0 else 0)


cdef inline int64_t size_of_headers(const Arrays *source, int64_t first, int64_t end) noexcept nogil:
    """The size of headers without their count."""
    cdef int64_t size = 0, header
    for header in range(first, end):
        size += size_of_bytes(length_at(&source.header_key, header)) + size_of_bytes(length_at(&source.header_value, header))
    return size


cdef inline int64_t size_of_fields(const Arrays *source, int64_t row) noexcept nogil:
    """The size of a row's key and value, the count of its headers, and the headers."""
    cdef int64_t first = 0, last = 0, size
    if source.header_offsets != NULL:
        first, last = source.header_offsets[row], source.header_offsets[row + 1]
    size = (size_of_bytes(length_at(&source.key, row)) + size_of_bytes(length_at(&source.value, row))
            + size_of_uvarlong(zigzag(<int32_t>(last - first))))
    if first != last:
        size += size_of_headers(source, first, last)
    return size


cdef inline int64_t size_of_record(int64_t body) noexcept nogil:
    """The size of a record whose length field is `body`."""
    return size_of_uvarlong(zigzag(<int32_t>body)) + body


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
