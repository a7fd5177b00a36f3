"""`RecordColumns` as pointers, valid while a kernel runs."""

from libc.string cimport memcpy

from octavo.kernels.compiled.buffers cimport *
from octavo.kernels.compiled.layout cimport *


cdef enum:
    MAX_COLUMN_BYTES = 2147483647  # the largest value of an int32 offset


cdef struct Binary:
    int32_t *offsets
    uint8_t *data
    uint8_t *validity
    int64_t rows  # capacity
    int64_t bytes  # capacity
    int64_t nulls


cdef struct Arrays:
    int64_t rows
    int64_t capacity
    int64_t header_rows
    int64_t *offset
    int64_t *timestamp
    int32_t *header_offsets
    Binary key
    Binary value
    Binary header_key
    Binary header_value
    int pinned
    Py_buffer views[24]  # fifteen for the columns, and the others that the kernel pins


cdef inline void *pin(Arrays *arrays, array, int flags, int64_t *length) except? NULL:
    if array is None:
        length[0] = 0
        return NULL
    PyObject_GetBuffer(array, &arrays.views[arrays.pinned], flags)
    arrays.pinned += 1
    length[0] = arrays.views[arrays.pinned - 1].len
    return arrays.views[arrays.pinned - 1].buf


cdef inline int pin_binary(Arrays *arrays, column, int flags, Binary *binary) except -1:
    cdef int64_t length = 0, validity_bytes = 0
    binary.offsets, binary.data, binary.validity = NULL, NULL, NULL
    binary.rows, binary.bytes, binary.nulls = 0, 0, 0
    if column is None:
        return 0
    binary.offsets = <int32_t *>pin(arrays, column.offsets, flags, &length)
    binary.rows = length // 4 - 1
    binary.data = <uint8_t *>pin(arrays, column.data, flags, &binary.bytes)
    binary.bytes = min(binary.bytes, <int64_t>MAX_COLUMN_BYTES)
    binary.validity = <uint8_t *>pin(arrays, column.validity, flags, &validity_bytes)
    if binary.validity != NULL and validity_bytes * 8 < binary.rows:
        binary.rows = validity_bytes * 8
    binary.nulls = column.nulls
    return 0


cdef inline int pin_columns(Arrays *arrays, columns, int flags) except -1:
    cdef int64_t length = 0
    arrays.pinned = 0
    try:
        arrays.rows, arrays.header_rows = columns.rows, columns.header_rows
        arrays.offset = <int64_t *>pin(arrays, columns.offset, flags, &length)
        arrays.capacity = length // 8
        arrays.timestamp = <int64_t *>pin(arrays, columns.timestamp, flags, &length)
        arrays.capacity = min(arrays.capacity, length // 8)
        pin_binary(arrays, columns.key, flags, &arrays.key)
        pin_binary(arrays, columns.value, flags, &arrays.value)
        arrays.header_offsets = <int32_t *>pin(arrays, columns.header_offsets, flags, &length)
        if arrays.header_offsets != NULL:
            arrays.capacity = min(arrays.capacity, length // 4 - 1)
        pin_binary(arrays, columns.header_key, flags, &arrays.header_key)
        pin_binary(arrays, columns.header_value, flags, &arrays.header_value)
        if arrays.key.offsets != NULL:
            arrays.capacity = min(arrays.capacity, arrays.key.rows)
        if arrays.value.offsets != NULL:
            arrays.capacity = min(arrays.capacity, arrays.value.rows)
        if not 0 <= arrays.rows <= arrays.capacity:
            raise ValueError(f"{arrays.rows} rows, but the columns have room for {arrays.capacity}")
    except BaseException:
        unpin(arrays)
        raise
    return 0


cdef inline bint appendable(const Binary *column, int64_t rows) noexcept nogil:
    """Whether a column's first `rows` values lie inside it, so that filling can continue there; it may be full."""
    return column.validity != NULL and 0 <= rows <= column.rows and 0 <= column.offsets[rows] <= column.bytes


cdef inline int require_writable(Arrays *arrays, int columns) except -1:
    """Check that every requested column exists and is filled up to the last row."""
    if ((columns & KEY and not appendable(&arrays.key, arrays.rows))
            or (columns & VALUE and not appendable(&arrays.value, arrays.rows))
            or (columns & HEADERS and not (arrays.header_offsets != NULL
                                           and appendable(&arrays.header_key, arrays.header_rows)
                                           and appendable(&arrays.header_value, arrays.header_rows)))):
        raise ValueError("a requested column (key, value or headers) is missing from the columns to decode into, or is not "
                         "filled up to its last row; make them with RecordColumns.empty")
    return 0


cdef inline void unpin(Arrays *arrays) noexcept:
    while arrays.pinned:
        arrays.pinned -= 1
        PyBuffer_Release(&arrays.views[arrays.pinned])


cdef inline int publish(Arrays *arrays, columns) except -1:
    """Hand the counters back to the Python object."""
    columns.rows, columns.header_rows = arrays.rows, arrays.header_rows
    if columns.key is not None:
        columns.key.nulls = arrays.key.nulls
    if columns.value is not None:
        columns.value.nulls = arrays.value.nulls
    if columns.header_value is not None:
        columns.header_value.nulls = arrays.header_value.nulls
    return 0


cdef inline void set_null(Binary *column, int64_t row) noexcept nogil:
    column.validity[row >> 3] &= <uint8_t>~(1 << (row & 7))
    column.nulls += 1


cdef inline void forget_nulls(Binary *column, int64_t start, int64_t end) noexcept nogil:
    """Mark rows that are taken back as valid again: a decode only ever clears bits."""
    cdef int64_t row
    for row in range(start, end):
        if not column.validity[row >> 3] >> (row & 7) & 1:
            column.validity[row >> 3] |= <uint8_t>(1 << (row & 7))
            column.nulls -= 1


cdef inline void copy(uint8_t *to, const uint8_t *source, int64_t n) noexcept nogil:
    """memcpy for short values: two overlapping moves of a fixed size cost less than the call."""
    if n > 128:
        memcpy(to, source, <size_t>n)
    elif n > 64:
        memcpy(to, source, 64)
        memcpy(to + n - 64, source + n - 64, 64)
    elif n > 32:
        memcpy(to, source, 32)
        memcpy(to + n - 32, source + n - 32, 32)
    elif n >= 16:
        memcpy(to, source, 16)
        memcpy(to + n - 16, source + n - 16, 16)
    elif n >= 8:
        memcpy(to, source, 8)
        memcpy(to + n - 8, source + n - 8, 8)
    elif n >= 4:
        memcpy(to, source, 4)
        memcpy(to + n - 4, source + n - 4, 4)
    elif n > 0:
        to[0] = source[0]
        to[n >> 1] = source[n >> 1]
        to[n - 1] = source[n - 1]


cdef inline void put(Binary *column, int64_t row, const uint8_t *source, int32_t length) noexcept nogil:
    """Append one value; a negative length means null. The caller has checked for room."""
    cdef int32_t at = column.offsets[row]
    if length < 0:
        set_null(column, row)
        column.offsets[row + 1] = at
    else:
        column.offsets[row + 1] = at + length
        copy(column.data + at, source, length)


cdef inline int64_t length_at(const Binary *column, int64_t row) noexcept nogil:
    """The length of a value; -1 means null."""
    if column.offsets == NULL:
        return -1
    if column.validity != NULL and not column.validity[row >> 3] >> (row & 7) & 1:
        return -1
    return column.offsets[row + 1] - column.offsets[row]


cdef inline bint sound(const Binary *column, int64_t first, int64_t end) noexcept nogil:
    """Whether the values of these rows lie inside the column's data."""
    cdef int64_t row
    if column.offsets == NULL or first == end:
        return True
    if end > column.rows or column.offsets[first] < 0 or column.offsets[end] > column.bytes:
        return False
    for row in range(first, end):
        if column.offsets[row] > column.offsets[row + 1]:
            return False
    return True


cdef inline int check_columns(const Arrays *source, int64_t first, int64_t end) except -1:
    """Refuse columns whose offsets point outside their data, and headers without a key; later code does not check."""
    cdef int64_t row
    cdef bint good = 0 <= first <= end <= source.capacity
    good = good and sound(&source.key, first, end) and sound(&source.value, first, end)
    if good and source.header_offsets != NULL and first < end:
        for row in range(first, end):
            good = good and 0 <= source.header_offsets[row] <= source.header_offsets[row + 1]
        good = good and sound(&source.header_key, source.header_offsets[first], source.header_offsets[end]) \
            and sound(&source.header_value, source.header_offsets[first], source.header_offsets[end])
        if good:
            for row in range(source.header_offsets[first], source.header_offsets[end]):
                if length_at(&source.header_key, row) < 0:
                    raise ValueError(f"rows {first} to {end}: header {row} has no key")
    if not good:
        raise ValueError(f"rows {first} to {end}: a column's offsets do not lie inside its data")
    return 0
