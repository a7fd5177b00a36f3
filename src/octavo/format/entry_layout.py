"""Fixed-size entries of big-endian integers: one declaration serves to read and to write them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo.errors import EncodingError
from octavo.kernels.layout import big_endian

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Kafka's names of field types, with their format in a numpy dtype and in a struct.
_TYPES = {"int16": (">i2", "h"), "int32": (">i4", "i"), "int64": (">i8", "q")}


class EntryLayout:
    """The fields of an entry in file order, e.g. `EntryLayout(relative_offset="int32", position="int32")`."""

    def __init__(self, **fields: str) -> None:
        self.fields = fields
        self.dtype = np.dtype([(name, _TYPES[kind][0]) for name, kind in fields.items()])
        self.forms = {name: _TYPES[kind][1] for name, kind in fields.items()}
        self._struct = big_endian(self.forms)
        self.size = self._struct.size
        # The position and the width of each field in an entry.
        self.places = {name: (place[1], place[0].itemsize) for name, place in (self.dtype.fields or {}).items()}

    def view(self, data: Buffer) -> NDArray[np.void]:
        """All whole entries as a read-only array over the same memory; an incomplete one at the end is ignored."""
        content = memoryview(data)
        entries: NDArray[np.void] = np.frombuffer(content, dtype=self.dtype, count=content.nbytes // self.size)
        entries.setflags(write=False)
        return entries

    def pack(self, *values: int) -> bytes:
        try:
            return self._struct.pack(*values)
        except struct.error as error:
            given = ", ".join(f"{name} {value!r}" for name, value in zip(self.fields, values, strict=False))
            raise EncodingError(f"an entry cannot hold {given}: {error}") from error
