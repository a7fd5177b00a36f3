"""The header of a v2 batch, read into a row of the batch table and written from one."""

from octavo.kernels.compiled.buffers cimport *
from octavo.kernels.compiled.checksums cimport *
from octavo.kernels.compiled.layout cimport *


cdef inline void read_header(const uint8_t *p, int64_t available, Batch *row, bint check_crc) noexcept nogil:
    """Read a header; `available` bytes begin at p. Kafka reads the header's 61 bytes even if the batch claims to be
    shorter."""
    if row.size < BATCH_OVERHEAD:
        row.flaws |= TOO_SHORT
        if available < BATCH_OVERHEAD:
            row.crc, row.attributes, row.last_offset_delta, row.base_timestamp, row.max_timestamp = 0, 0, 0, -1, -1
            row.producer_id, row.producer_epoch, row.base_sequence, row.count = -1, -1, -1, 0
            row.partition_leader_epoch = <int32_t>load_be32(p + PARTITION_LEADER_EPOCH_POSITION)
            return
    row.partition_leader_epoch = <int32_t>load_be32(p + PARTITION_LEADER_EPOCH_POSITION)
    row.crc = load_be32(p + CRC_POSITION)
    row.attributes = <int16_t>load_be16(p + ATTRIBUTES_POSITION)
    row.last_offset_delta = <int32_t>load_be32(p + LAST_OFFSET_DELTA_POSITION)
    row.base_timestamp = <int64_t>load_be64(p + BASE_TIMESTAMP_POSITION)
    row.max_timestamp = <int64_t>load_be64(p + MAX_TIMESTAMP_POSITION)
    row.producer_id = <int64_t>load_be64(p + PRODUCER_ID_POSITION)
    row.producer_epoch = <int16_t>load_be16(p + PRODUCER_EPOCH_POSITION)
    row.base_sequence = <int32_t>load_be32(p + BASE_SEQUENCE_POSITION)
    row.count = <int32_t>load_be32(p + RECORDS_COUNT_POSITION)
    if not check_crc:
        row.flaws |= UNCHECKED
    elif row.size >= BATCH_OVERHEAD and row.crc != crc32c_update(0, p + ATTRIBUTES_POSITION, row.size - ATTRIBUTES_POSITION):
        row.flaws |= CRC_MISMATCH


cdef inline void write_header(uint8_t *p, const Batch *batch) noexcept nogil:
    store_be64(p, <uint64_t>batch.base_offset)
    store_be32(p + SIZE_POSITION, <uint32_t>(batch.size - LOG_OVERHEAD))
    store_be32(p + PARTITION_LEADER_EPOCH_POSITION, <uint32_t>batch.partition_leader_epoch)
    p[MAGIC_POSITION] = 2
    store_be16(p + ATTRIBUTES_POSITION, <uint16_t>batch.attributes)
    store_be32(p + LAST_OFFSET_DELTA_POSITION, <uint32_t>batch.last_offset_delta)
    store_be64(p + BASE_TIMESTAMP_POSITION, <uint64_t>batch.base_timestamp)
    store_be64(p + MAX_TIMESTAMP_POSITION, <uint64_t>batch.max_timestamp)
    store_be64(p + PRODUCER_ID_POSITION, <uint64_t>batch.producer_id)
    store_be16(p + PRODUCER_EPOCH_POSITION, <uint16_t>batch.producer_epoch)
    store_be32(p + BASE_SEQUENCE_POSITION, <uint32_t>batch.base_sequence)
    store_be32(p + RECORDS_COUNT_POSITION, <uint32_t>batch.count)


cdef inline void seal_batch(uint8_t *p, Batch *batch) noexcept nogil:
    """Write the header in front of existing records, with the CRC."""
    batch.magic, batch.flaws = 2, 0
    write_header(p, batch)
    batch.crc = crc32c_update(0, p + ATTRIBUTES_POSITION, batch.size - ATTRIBUTES_POSITION)
    store_be32(p + CRC_POSITION, batch.crc)
