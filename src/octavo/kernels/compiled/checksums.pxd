"""Declares `checksums.h`; each module that calls it prepares its tables once."""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint32_t


cdef extern from "checksums.h" nogil:
    const char *CRC32C_INSTRUCTION
    void checksums_prepare()
    int crc32c_has_instruction()
    uint32_t crc32c_update(uint32_t crc, const uint8_t *p, size_t n)
    uint32_t crc32c_portable(uint32_t crc, const uint8_t *p, size_t n)
    uint32_t crc32_ieee(uint32_t crc, const uint8_t *p, size_t n)
