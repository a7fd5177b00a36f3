"""Python buffers that are pinned while a kernel runs, and numbers in a given byte order."""

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


cdef inline int pin_buffer(Py_buffer *views, int *pinned, buffer, int flags) except -1:
    """Pin one more buffer; `release_buffers` releases them all."""
    PyObject_GetBuffer(buffer, &views[pinned[0]], flags)
    pinned[0] += 1
    return 0


cdef inline void release_buffers(Py_buffer *views, int *pinned) noexcept:
    while pinned[0]:
        pinned[0] -= 1
        PyBuffer_Release(&views[pinned[0]])


cdef inline int check_range(Py_ssize_t start, Py_ssize_t end, Py_ssize_t length) except -1:
    if not 0 <= start <= end <= length:
        raise ValueError(f"range {start}..{end} is not inside a buffer of {length} bytes")
    return 0
