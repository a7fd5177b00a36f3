"""Reads and writes messages that follow their schema exactly.

Everything else (a message that ends too soon, tagged fields, a value of another type) is left to a plain-Python coder,
which knows every rule and says what is wrong. So a coder here only has to be right about what it accepts.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject

from libc.stdint cimport int16_t

from octavo.kernels.compiled.buffers cimport *
from octavo.kernels.compiled.varint cimport read_uvarlong, write_uvarlong


cdef extern from "Python.h":
    dict PyDict_Copy(dict)
    PyObject *PyDict_GetItemWithError(dict, object) except? NULL
    int PyDict_SetItem(dict, object, object) except -1
    bint PyDict_CheckExact(object)
    bint PyLong_Check(object)
    long long PyLong_AsLongLongAndOverflow(object, int *) except? -1
    bint PyFloat_CheckExact(object)
    bint PyBool_Check(object)
    bint PyUnicode_Check(object)
    const char *PyUnicode_AsUTF8AndSize(object, Py_ssize_t *) except NULL
    object PyUnicode_DecodeUTF8(const char *, Py_ssize_t, const char *)
    char *PyBytes_AsString(object) except NULL
    object PyBytes_FromStringAndSize(const char *, Py_ssize_t)
    object PyMemoryView_FromObject(object)
    void *memcpy(void *, const void *, size_t)


cdef enum:
    MAX_STRING_BYTES = 0x7FFF
    MAX_LENGTH = 0x7FFFFFFF
    LENGTH_BYTES = 4
    VARINT_BYTES = 5
    FIRST_BYTES = 128  # the first room for a message that is written


# The bytes of each kind of a fixed size; those of the others depend on the value.
WIDTHS = {"q": 8, "d": 8, "i": 4, "I": 4, "h": 2, "H": 2, "b": 1, "?": 1, "u": 16}


cdef struct Step:
    # One field, or the element of an array. The references are borrowed: the layout keeps the objects.
    char kind
    Py_ssize_t width  # of a kind of a fixed size, otherwise 0
    bint compact
    bint nullable
    PyObject *name
    PyObject *default
    PyObject *fields  # a Layout
    Step *element


cdef class Layout:
    """A struct in one version: `reference.messages.StructPlan` in C."""

    cdef Step *steps
    cdef Py_ssize_t count
    cdef dict template
    cdef tuple fresh, others
    cdef bint is_flexible
    cdef list kept

    def __cinit__(self, plan):
        cdef Py_ssize_t index
        self.template, steps, self.fresh, self.others, self.is_flexible = plan
        self.kept = []
        self.count = 0
        self.steps = <Step *>PyMem_Malloc(max(len(steps), 1) * sizeof(Step))
        if self.steps == NULL:
            raise MemoryError
        for index in range(len(steps)):
            self.prepare(&self.steps[index], steps[index])
            self.count += 1

    cdef int prepare(self, Step *step, given) except -1:
        name, kind, compact, nullable, inner = given
        step.kind, step.width, step.compact, step.nullable = ord(kind), WIDTHS.get(kind, 0), compact, nullable
        step.name = step.default = step.fields = NULL
        step.element = NULL
        if name is not None:
            self.kept.append(name)
            step.name = <PyObject *>name
            step.default = <PyObject *>self.template[name]
        if kind == "S":
            layout = Layout(inner)
            self.kept.append(layout)
            step.fields = <PyObject *>layout
        elif kind == "A":
            step.element = <Step *>PyMem_Malloc(sizeof(Step))
            if step.element == NULL:
                raise MemoryError
            self.prepare(step.element, inner)
        return 0

    def __dealloc__(self):
        cdef Py_ssize_t index
        for index in range(self.count):
            PyMem_Free(self.steps[index].element)
        PyMem_Free(self.steps)


cdef struct Cursor:
    const uint8_t *at
    const uint8_t *end
    const uint8_t *start
    bint is_odd  # the plain reader has to read the message


cdef Py_ssize_t read_length(const Step *step, Cursor *cursor, bint is_short) noexcept:
    """A length, -1 for null; the cursor becomes odd unless the length and that many bytes are there."""
    cdef uint64_t value = 0
    cdef const uint8_t *after
    cdef Py_ssize_t length
    cdef Py_ssize_t width = 2 if is_short else 4
    if step.compact:
        after = read_uvarlong(cursor.at, cursor.end, VARINT_BYTES, &value)
        if after == NULL:
            cursor.is_odd = True
            return -1
        length = <Py_ssize_t>(<uint32_t>value) - 1
        cursor.at = after
    else:
        if cursor.end - cursor.at < width:
            cursor.is_odd = True
            return -1
        length = <int16_t>load_be16(cursor.at) if is_short else <int32_t>load_be32(cursor.at)
        cursor.at += width
    if length > cursor.end - cursor.at or length < -1 or (length == -1 and not step.nullable):
        cursor.is_odd = True
        return -1
    return length


cdef object read_value(const Step *step, Cursor *cursor, object source):
    """A value; it means nothing once the cursor is odd."""
    cdef const uint8_t *at = cursor.at
    cdef Py_ssize_t length
    cdef char kind = step.kind
    cdef double number
    cdef uint64_t bits
    if cursor.end - at < step.width:
        cursor.is_odd = True
        return None
    cursor.at += step.width
    if kind == b"i":
        return <int32_t>load_be32(at)
    if kind == b"q":
        return <int64_t>load_be64(at)
    if kind == b"h":
        return <int16_t>load_be16(at)
    if kind == b"b":
        return <signed char>at[0]
    if kind == b"?":
        return at[0] != 0
    if kind == b"H":
        return load_be16(at)
    if kind == b"I":
        return load_be32(at)
    if kind == b"d":
        bits = load_be64(at)
        memcpy(&number, &bits, 8)
        return number
    if kind == b"u":
        return PyBytes_FromStringAndSize(<const char *>at, 16)
    if kind == b"S":
        if step.nullable:
            if at == cursor.end or (at[0] != 1 and at[0] != 0xFF):
                cursor.is_odd = True
                return None
            cursor.at += 1
            if at[0] == 0xFF:
                return None
        return read_struct(<Layout>step.fields, cursor, source)
    length = read_length(step, cursor, kind == b"s")
    if length < 0 or cursor.is_odd:
        return None
    at = cursor.at
    if kind == b"A":
        return read_array(step.element, length, cursor, source)
    cursor.at += length
    if kind == b"s":
        if length > MAX_STRING_BYTES:
            cursor.is_odd = True
            return None
        return PyUnicode_DecodeUTF8(<const char *>at, length, NULL)
    if kind == b"y":
        return PyBytes_FromStringAndSize(<const char *>at, length)
    return PyMemoryView_FromObject(source)[at - cursor.start : at - cursor.start + length]


cdef list read_array(const Step *element, Py_ssize_t count, Cursor *cursor, object source):
    cdef list values = []
    cdef Py_ssize_t index
    for index in range(count):
        values.append(read_value(element, cursor, source))
        if cursor.is_odd:
            break
    return values


cdef dict read_struct(Layout layout, Cursor *cursor, object source):
    cdef dict row = PyDict_Copy(layout.template)
    cdef Py_ssize_t index
    for name, default in layout.fresh:
        row[name] = default()
    for index in range(layout.count):
        value = read_value(&layout.steps[index], cursor, source)
        if cursor.is_odd:
            return row
        PyDict_SetItem(row, <object>layout.steps[index].name, value)
    if layout.is_flexible:
        if cursor.at == cursor.end or cursor.at[0] != 0:  # tagged fields
            cursor.is_odd = True
        else:
            cursor.at += 1
    return row


cdef class MessageReader:
    cdef Layout layout
    cdef object plain

    def __init__(self, plan, plain):
        self.layout, self.plain = Layout(plan), plain

    def __call__(self, data, Py_ssize_t position):
        cdef Py_buffer view
        cdef Cursor cursor
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        row = None
        try:
            if 0 <= position <= view.len:
                cursor.start = <const uint8_t *>view.buf
                cursor.at, cursor.end = cursor.start + position, cursor.start + view.len
                cursor.is_odd = False
                row = read_struct(self.layout, &cursor, data)
        except UnicodeDecodeError:
            row = None
        finally:
            PyBuffer_Release(&view)
        if row is None or cursor.is_odd:
            return self.plain(data, position)
        return row, cursor.at - cursor.start


cdef struct Out:
    uint8_t *data
    Py_ssize_t used
    Py_ssize_t room


cdef uint8_t *make_room(Out *out, Py_ssize_t count) except NULL:
    """Make room for `count` more bytes; returns where they go."""
    cdef uint8_t *longer
    if out.room - out.used < count:
        out.room = 2 * (out.used + count)
        longer = <uint8_t *>PyMem_Realloc(out.data, out.room)
        if longer == NULL:
            raise MemoryError
        out.data = longer
    out.used += count
    return out.data + out.used - count


cdef int write_length(const Step *step, Py_ssize_t length, bint is_short, Out *out) except -1:
    cdef uint8_t *place
    if step.compact:
        place = make_room(out, VARINT_BYTES)
        out.used -= VARINT_BYTES - (write_uvarlong(place, <uint64_t>(length + 1)) - place)
    elif is_short:
        store_be16(make_room(out, 2), <uint16_t>length)
    else:
        store_be32(make_room(out, 4), <uint32_t>length)
    return 0


cdef bint write_number(char kind, object value, Out *out) except -1:
    """Write a number; False if it is of another type or out of range."""
    cdef int overflow = 0
    cdef int64_t number
    if not PyLong_Check(value):
        return False
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow:
        return False
    if kind == b"q":
        store_be64(make_room(out, 8), <uint64_t>number)
    elif kind == b"i" and -0x80000000 <= number <= 0x7FFFFFFF:
        store_be32(make_room(out, 4), <uint32_t>number)
    elif kind == b"h" and -0x8000 <= number <= 0x7FFF:
        store_be16(make_room(out, 2), <uint16_t>number)
    elif kind == b"b" and -0x80 <= number <= 0x7F:
        make_room(out, 1)[0] = <uint8_t>number
    elif kind == b"H" and 0 <= number <= 0xFFFF:
        store_be16(make_room(out, 2), <uint16_t>number)
    elif kind == b"I" and 0 <= number <= 0xFFFFFFFF:
        store_be32(make_room(out, 4), <uint32_t>number)
    else:
        return False
    return True


cdef bint write_bytes(const Step *step, object value, Out *out, list parts) except -1:
    cdef Py_buffer view
    cdef Py_ssize_t length
    if not isinstance(value, (bytes, bytearray, memoryview)):
        if step.kind != b"r" or not hasattr(value, "size"):
            return False
        write_length(step, value.size, False, out)  # a slice of a file stays as it is
        parts.append(PyBytes_FromStringAndSize(<const char *>out.data, out.used))
        parts.append(value)
        out.used = 0
        return True
    try:
        PyObject_GetBuffer(value, &view, PyBUF_SIMPLE)
    except BufferError:  # not contiguous
        return False
    length = view.len
    try:
        if length <= MAX_LENGTH:
            write_length(step, length, False, out)
            memcpy(make_room(out, length), view.buf, length)
    finally:
        PyBuffer_Release(&view)
    return length <= MAX_LENGTH


cdef bint write_value(const Step *step, object value, Out *out, list parts) except -1:
    """Write a value; False if the plain writer has to judge it."""
    cdef char kind = step.kind
    cdef Py_ssize_t length = 0, index
    cdef const char *text
    cdef double number
    cdef uint64_t bits
    if kind == b"S":
        if step.nullable:
            make_room(out, 1)[0] = 0xFF if value is None else 1
            if value is None:
                return True
        return PyDict_CheckExact(value) and write_struct(<Layout>step.fields, value, out, parts)
    if value is None and step.nullable:
        write_length(step, -1, kind == b"s", out)
        return True
    if kind == b"s":
        if not PyUnicode_Check(value):
            return False
        text = PyUnicode_AsUTF8AndSize(value, &length)
        if length > MAX_STRING_BYTES:
            return False
        write_length(step, length, True, out)
        memcpy(make_room(out, length), text, length)
        return True
    if kind == b"A":
        if not isinstance(value, (list, tuple)):
            return False
        length = len(value)
        write_length(step, length, False, out)
        for index in range(length):
            if not write_value(step.element, value[index], out, parts):
                return False
        return True
    if kind == b"y" or kind == b"r":
        return write_bytes(step, value, out, parts)
    if kind == b"?":
        if not PyBool_Check(value):
            return False
        make_room(out, 1)[0] = 1 if value else 0
        return True
    if kind == b"u":
        if not isinstance(value, bytes) or len(value) != 16:
            return False
        memcpy(make_room(out, 16), <const char *>(<bytes>value), 16)
        return True
    if kind == b"d":
        if not PyFloat_CheckExact(value):
            return False
        number = value
        memcpy(&bits, &number, 8)
        store_be64(make_room(out, 8), bits)
        return True
    return write_number(kind, value, out)


cdef bint write_struct(Layout layout, dict row, Out *out, list parts) except -1:
    cdef Py_ssize_t index, known = 0
    cdef PyObject *value
    cdef const Step *step
    for index in range(layout.count):
        step = &layout.steps[index]
        value = PyDict_GetItemWithError(row, <object>step.name)
        if value == NULL:
            value = step.default
        else:
            known += 1
        if not write_value(step, <object>value, out, parts):
            return False
    if layout.is_flexible:
        make_room(out, 1)[0] = 0
    if known == len(row):
        return True
    for name, is_ignored, default in layout.others:
        value = PyDict_GetItemWithError(row, name)
        if value == NULL:
            continue
        if not is_ignored and (<object>value is not None if default is None else <object>value != default):
            return False
        known += 1
    return known == len(row)


cdef class MessageWriter:
    cdef Layout layout
    cdef object plain

    def __init__(self, plan, plain):
        self.layout, self.plain = Layout(plan), plain

    def __call__(self, row, bytes head=b""):
        cdef Out out
        cdef list parts = []
        cdef Py_ssize_t size
        cdef bint is_written = False
        out.data, out.used, out.room = NULL, 0, 0
        try:
            size = len(head)
            make_room(&out, FIRST_BYTES + size)
            memcpy(out.data, <const char *>head, size)
            out.used = size
            if PyDict_CheckExact(row):
                is_written = write_struct(self.layout, row, &out, parts)
            if is_written:
                parts.append(PyBytes_FromStringAndSize(<const char *>out.data, out.used))
        except UnicodeEncodeError:
            is_written = False
        finally:
            PyMem_Free(out.data)
        if not is_written:
            return self.plain(row, head)
        if head:
            size = -LENGTH_BYTES
            for part in parts:
                size += len(part) if isinstance(part, bytes) else part.size
            store_be32(<uint8_t *>PyBytes_AsString(parts[0]), <uint32_t>size)  # nobody else has seen it yet
        return parts


def message_reader(plan, plain):
    """A reader of messages, `reader(data, position) -> (row, next position)`, with the results of the plain one."""
    return MessageReader(plan, plain)


def message_writer(plan, plain):
    """A writer of messages, `writer(row, head) -> parts`, with the results of the plain one.

    The head, if there is one, comes first, and its first four bytes become the size of everything after them.
    """
    return MessageWriter(plan, plain)
