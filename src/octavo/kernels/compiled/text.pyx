"""Formats records as the lines of Kafka's dump-log."""

from libc.string cimport memcpy

from octavo.kernels.compiled.arrays cimport *
from octavo.kernels.compiled.layout cimport DONE, FULL

cdef enum:
    NUMBERS = 200  # more than the fixed words and the numbers of a line need
    EXPANSION = 3  # a byte that is not UTF-8 becomes the three bytes of U+FFFD


cdef inline uint8_t *put_words(uint8_t *p, const char *words, size_t n) noexcept nogil:
    memcpy(p, words, n)
    return p + n


cdef inline uint8_t *put_number(uint8_t *p, int64_t number) noexcept nogil:
    cdef uint8_t digits[20]
    cdef int n = 0
    cdef uint64_t left = <uint64_t>number
    if number < 0:
        p[0] = b"-"
        p += 1
        left = 0 - left
    while True:
        digits[n] = <uint8_t>(48 + left % 10)
        left //= 10
        n += 1
        if left == 0:
            break
    while n:
        n -= 1
        p[0] = digits[n]
        p += 1
    return p


cdef inline bint continues(uint8_t byte) noexcept nogil:
    return byte & 0xC0 == 0x80


cdef int sequence_at(const uint8_t *p, int64_t left, int *skip) noexcept nogil:
    """The length of the non-ASCII UTF-8 character at p; 0 if it is malformed, and `skip` then says how far it reaches.

    It reaches as far as in Java's String, which differs from Python only for surrogates.
    """
    cdef uint8_t first = p[0]
    cdef uint8_t second = p[1] if left > 1 else 0
    cdef int wanted
    skip[0] = 1
    if 0xC2 <= first <= 0xDF:
        return 2 if left > 1 and continues(second) else 0
    if 0xE0 <= first <= 0xEF:
        if left < 2 or not continues(second) or (first == 0xE0 and second < 0xA0):
            return 0
        skip[0] = 2
        if left < 3 or not continues(p[2]):
            return 0
        skip[0] = 3
        return 0 if first == 0xED and second >= 0xA0 else 3
    if 0xF0 <= first <= 0xF4:
        if (left < 2 or not continues(second) or (first == 0xF0 and second < 0x90)
                or (first == 0xF4 and second > 0x8F)):
            return 0
        skip[0] = 2
        if left < 3 or not continues(p[2]):
            return 0
        skip[0] = 3
        return 4 if left > 3 and continues(p[3]) else 0
    return 0


# What a byte is shown as on its own (itself or U+FFFD), and how many bytes that takes; 0 if it may begin a character.
# In binary values, where no byte predicts the next one, a table causes far fewer branch mispredictions.
cdef uint8_t shown[256][4]
cdef uint8_t shown_length[256]


cdef void prepare_shown() noexcept:
    cdef int byte
    for byte in range(256):
        shown[byte][0], shown[byte][1], shown[byte][2], shown[byte][3] = 0xEF, 0xBF, 0xBD, 0
        shown_length[byte] = 0 if 0xC2 <= byte <= 0xF4 else 3
        if byte < 0x80:
            shown[byte][0], shown_length[byte] = <uint8_t>byte, 1


prepare_shown()


cdef uint8_t *put_text(uint8_t *p, const uint8_t *source, int64_t n) noexcept nogil:
    """Write the bytes as Java shows them; `p` has room for three times as many, and for a few more."""
    cdef const uint8_t *end = source + n
    cdef const uint8_t *stop
    cdef uint64_t word
    cdef int length, skip
    while source < end:
        stop = end
        if end - source >= 8:
            memcpy(&word, source, 8)
            if not word & 0x8080808080808080u:
                memcpy(p, source, 8)
                source += 8
                p += 8
                continue
            stop = source + 8
        while source < stop:
            if shown_length[source[0]]:
                memcpy(p, shown[source[0]], 4)
                p += shown_length[source[0]]
                source += 1
                continue
            length = sequence_at(source, end - source, &skip)
            if length:
                p = put_words(p, <const char *>source, length)
                source += length
            else:
                p = put_words(p, b"\xef\xbf\xbd", 3)
                source += skip
    return p


cdef uint8_t *put_metadata(uint8_t *p, const Arrays *rows, int64_t row, int32_t sequence, const char *kind,
                           size_t kind_length) noexcept nogil:
    cdef int64_t header, first = rows.header_offsets[row], last = rows.header_offsets[row + 1]
    p = put_number(put_words(p, b"| offset: ", 10), rows.offset[row])
    p = put_words(put_words(p, b" ", 1), kind, kind_length)
    p = put_number(put_words(p, b": ", 2), rows.timestamp[row])
    p = put_number(put_words(p, b" keySize: ", 10), length_at(&rows.key, row))
    p = put_number(put_words(p, b" valueSize: ", 12), length_at(&rows.value, row))
    p = put_number(put_words(p, b" sequence: ", 11), sequence)
    p = put_words(p, b" headerKeys: [", 14)
    for header in range(first, last):
        if header > first:
            p = put_words(p, b",", 1)
        p = put_text(p, rows.header_key.data + rows.header_key.offsets[header],
                     rows.header_key.offsets[header + 1] - rows.header_key.offsets[header])
    return put_words(p, b"]", 1)


cdef uint8_t *put_content(uint8_t *p, const Arrays *rows, int64_t row, bint metadata) noexcept nogil:
    cdef int64_t key = length_at(&rows.key, row), value = length_at(&rows.value, row)
    if key >= 0:
        p = put_words(p, b" " if metadata else b"| ", 1 if metadata else 2)
        p = put_text(put_words(p, b"key: ", 5), rows.key.data + rows.key.offsets[row], key)
    if value >= 0:
        p = put_words(p, b" " if metadata or key >= 0 else b"| ", 1 if metadata or key >= 0 else 2)
        p = put_text(put_words(p, b"payload: ", 9), rows.value.data + rows.value.offsets[row], value)
    return p


cdef int64_t most_bytes(const Arrays *rows, int64_t row, size_t kind_length, bint content) noexcept nogil:
    """An upper bound for the length of this row's line."""
    cdef int64_t first = rows.header_offsets[row], last = rows.header_offsets[row + 1]
    cdef int64_t names = rows.header_key.offsets[last] - rows.header_key.offsets[first]
    cdef int64_t most = NUMBERS + <int64_t>kind_length + (last - first) + EXPANSION * names
    if content:
        # In 64 bits, since three times a value's length may exceed an int32.
        most += EXPANSION * (<int64_t>(rows.key.offsets[row + 1] - rows.key.offsets[row])
                             + (rows.value.offsets[row + 1] - rows.value.offsets[row]))
    return most


cdef bint has_all(columns) except -1:
    needed = columns.key, columns.value, columns.header_offsets, columns.header_key
    return all(column is not None for column in needed)


def record_lines(columns, int64_t first, int64_t end, sequences, bytes timestamp_type, bint metadata, bint content,
                 out, Py_ssize_t at):
    """Write one line per row first..end of decoded columns to out[at:]; returns (code, next row, position).

    `sequences` has an int32 for each of these rows. `metadata` adds offset, timestamp, sizes, sequence and header keys;
    `content` adds key and payload as text. FULL: the returned row did not fit.
    """
    cdef Arrays arrays
    cdef uint8_t *base
    cdef const int32_t *sequence_at_row
    cdef const char *kind = timestamp_type
    cdef size_t kind_length = len(timestamp_type)
    cdef int64_t length = 0, sequence_bytes = 0, row = first
    cdef int code = DONE
    pin_columns(&arrays, columns, PyBUF_SIMPLE)
    try:
        if end > arrays.rows or not has_all(columns):
            raise ValueError(f"expected {end} rows or more with key, value and headers, found {arrays.rows} rows")
        check_columns(&arrays, first, end)
        sequence_at_row = <const int32_t *>pin(&arrays, sequences, PyBUF_SIMPLE, &sequence_bytes)
        base = <uint8_t *>pin(&arrays, out, PyBUF_WRITABLE, &length)
        check_range(at, length, length)
        if sequence_bytes // 4 < end - first:
            raise ValueError(f"{sequence_bytes // 4} sequences for {end - first} rows")
        with nogil:
            while row < end:
                if most_bytes(&arrays, row, kind_length, content) > length - at:
                    code = FULL
                    break
                at = print_row(base + at, &arrays, row, sequence_at_row[row - first], kind, kind_length, metadata,
                               content) - base
                row += 1
    finally:
        unpin(&arrays)
    return code, row, at


cdef uint8_t *print_row(uint8_t *p, const Arrays *rows, int64_t row, int32_t sequence, const char *kind,
                        size_t kind_length, bint metadata, bint content) noexcept nogil:
    if metadata:
        p = put_metadata(p, rows, row, sequence, kind, kind_length)
    if content:
        p = put_content(p, rows, row, metadata)
    return put_words(p, b"\n", 1)
