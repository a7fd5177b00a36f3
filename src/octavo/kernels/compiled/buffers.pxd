"""Python buffers as pointers, and numbers in a given byte order."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "byteorder.h" nogil:
    uint16_t load_be16(const uint8_t *p)
    uint32_t load_be32(const uint8_t *p)
    uint64_t load_be64(const uint8_t *p)
    uint32_t load_le32(const uint8_t *p)
    void store_be16(uint8_t *p, uint16_t v)
    void store_be32(uint8_t *p, uint32_t v)
    void store_be64(uint8_t *p, uint64_t v)


cdef inline int check_range(Py_ssize_t start, Py_ssize_t end, Py_ssize_t length) except -1:
    if not 0 <= start <= end <= length:
        raise ValueError(f"range {start}..{end} is not inside a buffer of {length} bytes")
    return 0
