"""Checksums and hashes: CRC-32C, CRC-32, xxHash32 (lz4 frames), murmur2 (Kafka's partitioner)."""

from octavo.kernels.compiled.buffers cimport *
from octavo.kernels.compiled.checksums cimport *

checksums_prepare()


def crc32c_implementation():
    """Which CRC-32C implementation this machine uses."""
    return (CRC32C_INSTRUCTION if crc32c_has_instruction() else b"portable").decode()


cdef uint32_t checksum(uint32_t (*update)(uint32_t, const uint8_t *, size_t) noexcept nogil, data, uint32_t value) except? 0:
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    with nogil:
        value = update(value, <const uint8_t *>view.buf, <size_t>view.len)
    PyBuffer_Release(&view)
    return value


def crc32c(data, uint32_t value=0):
    return checksum(crc32c_update, data, value)


def crc32c_by_table(data, uint32_t value=0):
    """The portable CRC-32C, without the CPU's CRC instructions."""
    return checksum(crc32c_portable, data, value)


def crc32(data, uint32_t value=0):
    return checksum(crc32_ieee, data, value)


cdef inline uint32_t rotate(uint32_t v, int bits) noexcept nogil:
    return (v << bits) | (v >> (32 - bits))


cdef uint32_t PRIME1 = 0x9E3779B1u, PRIME2 = 0x85EBCA77u, PRIME3 = 0xC2B2AE3Du, PRIME4 = 0x27D4EB2Fu, PRIME5 = 0x165667B1u


cdef uint32_t xxh32_of(const uint8_t *p, size_t n) noexcept nogil:
    cdef const uint8_t *end = p + n
    cdef uint32_t h, a, b, c, d
    if n >= 16:
        a, b, c, d = PRIME1 + PRIME2, PRIME2, 0, 0u - PRIME1
        while end - p >= 16:
            a = rotate(a + load_le32(p) * PRIME2, 13) * PRIME1
            b = rotate(b + load_le32(p + 4) * PRIME2, 13) * PRIME1
            c = rotate(c + load_le32(p + 8) * PRIME2, 13) * PRIME1
            d = rotate(d + load_le32(p + 12) * PRIME2, 13) * PRIME1
            p += 16
        h = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18)
    else:
        h = PRIME5
    h += <uint32_t>n
    while end - p >= 4:
        h = rotate(h + load_le32(p) * PRIME3, 17) * PRIME4
        p += 4
    while p < end:
        h = rotate(h + p[0] * PRIME5, 11) * PRIME1
        p += 1
    h = (h ^ (h >> 15)) * PRIME2
    h = (h ^ (h >> 13)) * PRIME3
    return h ^ (h >> 16)


def xxh32(data):
    """xxHash32 with seed 0."""
    cdef Py_buffer view
    cdef uint32_t h
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    with nogil:
        h = xxh32_of(<const uint8_t *>view.buf, <size_t>view.len)
    PyBuffer_Release(&view)
    return h


cdef int32_t murmur2_of(const uint8_t *p, size_t n) noexcept nogil:
    cdef uint32_t m = 0x5BD1E995u, h = 0x9747B28Cu ^ <uint32_t>n, k
    while n >= 4:
        k = load_le32(p) * m
        k = (k ^ (k >> 24)) * m
        h = (h * m) ^ k
        p += 4
        n -= 4
    if n:
        k = p[0]
        if n > 1:
            k |= <uint32_t>p[1] << 8
        if n > 2:
            k |= <uint32_t>p[2] << 16
        h = (h ^ k) * m
    h = (h ^ (h >> 13)) * m
    return <int32_t>(h ^ (h >> 15))


def murmur2(data):
    """Kafka's murmur2 of one key, as Java's signed int."""
    cdef Py_buffer view
    cdef int32_t h
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    h = murmur2_of(<const uint8_t *>view.buf, <size_t>view.len)
    PyBuffer_Release(&view)
    return h


def murmur2_column(offsets, data, out):
    """murmur2 of each value of a binary column: `out[i]` from `data[offsets[i]:offsets[i + 1]]`."""
    cdef Py_buffer views[3]
    cdef const int32_t *ends
    cdef const uint8_t *base
    cdef int32_t *hashes
    cdef Py_ssize_t i = 0, rows
    cdef int pinned = 0
    cdef bint sound
    try:
        for buffer, flags in ((offsets, PyBUF_SIMPLE), (data, PyBUF_SIMPLE), (out, PyBUF_WRITABLE)):
            pin_buffer(views, &pinned, buffer, flags)
        ends, base, hashes = <const int32_t *>views[0].buf, <const uint8_t *>views[1].buf, <int32_t *>views[2].buf
        rows = views[2].len // 4
        sound = rows < views[0].len // 4
        with nogil:
            while sound and i < rows:
                sound = 0 <= ends[i] <= ends[i + 1] <= views[1].len
                if sound:
                    hashes[i] = murmur2_of(base + ends[i], <size_t>(ends[i + 1] - ends[i]))
                    i += 1
    finally:
        release_buffers(views, &pinned)
    if not sound:
        raise ValueError(f"row {i}: its offsets do not lie inside the column's data")
