"""Fixed-size entries of big-endian integers: one declaration serves to read and to write them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from octavo.errors import EncodingError
from octavo.kernels.layout import big_endian

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Kafka's names of field types, with their format in a numpy dtype and in a struct.
_TYPES = {"int16": (">i2", "h"), "int32": (">i4", "i"), "int64": (">i8", "q")}

Integers = Sequence[int] | NDArray[np.integer[Any]]


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
        """One entry's bytes."""
        try:
            return self._struct.pack(*values)
        except struct.error as error:
            given = ", ".join(f"{name} {value!r}" for name, value in zip(self.fields, values, strict=False))
            raise EncodingError(f"an entry cannot hold {given}: {error}") from error

    def pack_columns(self, **columns: NDArray[np.int64]) -> bytes:
        """The bytes of many entries; the caller has checked that every value fits its field."""
        lengths = {len(column) for column in columns.values()}
        if len(lengths) != 1:
            raise EncodingError(f"expected columns of equal length, found lengths {sorted(lengths)}")
        entries = np.empty(lengths.pop(), dtype=self.dtype)
        for name in self.fields:
            entries[name] = columns[name]
        return entries.tobytes()


def integer_column(name: str, values: Integers, lowest: int, highest: int) -> NDArray[np.int64]:
    """The values as int64; raises if any of them is not a number from `lowest` to `highest`."""
    array = np.asarray(values)
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        found = f"{array.ndim}-dimensional array of {array.dtype}"
        raise EncodingError(f"{name}: expected a sequence of 64-bit integers, found a {found}")
    for extreme in (int(array.min()), int(array.max())):
        if not lowest <= extreme <= highest:
            raise EncodingError(f"{name} {extreme} is not in the range {lowest} to {highest}")
    return array.astype(np.int64)
