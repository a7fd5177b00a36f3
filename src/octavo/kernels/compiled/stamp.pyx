"""Writes what a leader assigns into the headers of v2 batches: offset, leader epoch, timestamp type and timestamp."""

from octavo.kernels.compiled.buffers cimport *
from octavo.kernels.compiled.checksums cimport *
from octavo.kernels.compiled.layout cimport *

checksums_prepare()


cdef void stamp(uint8_t *p, Batch *batch, int64_t last_offset, int32_t leader_epoch, int timestamp_type,
                int64_t max_timestamp) noexcept nogil:
    batch.base_offset = <int64_t>(<uint64_t>last_offset - <uint64_t>batch.last_offset_delta)
    batch.partition_leader_epoch = leader_epoch
    store_be64(p, <uint64_t>batch.base_offset)
    store_be32(p + PARTITION_LEADER_EPOCH_POSITION, <uint32_t>leader_epoch)
    if (batch.attributes & LOG_APPEND_TIME) == timestamp_type and batch.max_timestamp == max_timestamp:
        return
    # Bits unknown to Kafka are lost.
    batch.attributes = <int16_t>((batch.attributes & (CODEC_MASK | TRANSACTIONAL | CONTROL | DELETE_HORIZON)) | timestamp_type)
    batch.max_timestamp = max_timestamp
    store_be16(p + ATTRIBUTES_POSITION, <uint16_t>batch.attributes)
    store_be64(p + MAX_TIMESTAMP_POSITION, <uint64_t>max_timestamp)
    batch.crc = crc32c_update(0, p + ATTRIBUTES_POSITION, batch.size - ATTRIBUTES_POSITION)
    store_be32(p + CRC_POSITION, batch.crc)


def stamp_batches(data, table, int64_t next_offset, int32_t leader_epoch, bint log_append_time, max_timestamps):
    """Write consecutive offsets, the leader epoch, a timestamp type and a timestamp into the v2 batches of `table` in
    `data`.

    Each batch gets as many offsets as it has records. `max_timestamps` (int64) has one timestamp per batch; with
    None, each batch keeps its own. Headers and rows are changed; a CRC is recomputed if the type or the timestamp
    changes. Returns the next offset.
    """
    cdef Py_buffer views[3]
    cdef uint8_t *base
    cdef Batch *batches
    cdef const int64_t *times = NULL
    cdef Py_ssize_t i = 0, count
    cdef int pinned = 0
    cdef bint sound
    try:
        for buffer in (data, table):
            pin_buffer(views, &pinned, buffer, PyBUF_WRITABLE)
        base, batches, count = <uint8_t *>views[0].buf, <Batch *>views[1].buf, views[1].len // sizeof(Batch)
        sound = True
        if max_timestamps is not None:
            pin_buffer(views, &pinned, max_timestamps, PyBUF_SIMPLE)
            times, sound = <const int64_t *>views[2].buf, views[2].len // 8 == count
        with nogil:
            while sound and i < count:
                sound = (batches[i].magic == 2 and batches[i].size >= BATCH_OVERHEAD
                         and 0 <= batches[i].position <= views[0].len - batches[i].size)
                i += 1
            if sound:
                for i in range(count):
                    next_offset = <int64_t>(<uint64_t>next_offset + <uint64_t>batches[i].count)
                    stamp(base + batches[i].position, &batches[i], <int64_t>(<uint64_t>next_offset - 1), leader_epoch,
                          LOG_APPEND_TIME if log_append_time else 0,
                          times[i] if times != NULL else batches[i].max_timestamp)
    finally:
        release_buffers(views, &pinned)
    if not sound:
        raise ValueError(f"expected {count} batches of magic 2 inside the data, and one timestamp for each")
    return next_offset
