"""Finds the rows that a filter wants: whole columns are compared at once, by pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from octavo.errors import ScanError
from octavo.format.arrow import binary_array
from octavo.kernels.columns import BinaryColumn
from octavo.scanner.reading.plan import RecordFilter
from octavo.scanner.reading.read import Filling


def check_pattern(pattern: str) -> None:
    """Raise ScanError unless the pattern is a regular expression in the syntax of RE2, which pyarrow uses."""
    try:
        pc.match_substring_regex(_scalar(b"").cast(pa.string()), pattern)
    except pa.ArrowInvalid as error:
        raise ScanError(f"{pattern!r} is not a regular expression: {error}") from None


def matching(fillings: Iterable[Filling], where: RecordFilter) -> Iterator[Filling]:
    """The parts of fillings whose rows are all wanted."""
    for filling in fillings:
        wanted = wanted_rows(filling, where)
        edges = np.flatnonzero(np.diff(wanted, prepend=False, append=False)) + filling.start
        for start, stop in edges.reshape(-1, 2).tolist():
            yield filling._replace(start=start, stop=stop)


def wanted_rows(filling: Filling, where: RecordFilter) -> NDArray[np.bool_]:
    """True for the rows that a filter wants; null matches nothing."""
    wanted = np.ones(filling.stop - filling.start, np.bool_)
    if where.key is not None:
        equal = pc.equal(_rows(filling.columns.key, filling), _scalar(where.key))
        wanted &= _to_numpy(equal)
    if where.pattern is not None:
        values = _rows(filling.columns.value, filling)
        wanted &= _to_numpy(pc.match_substring_regex(_text(values), where.pattern))
    return wanted


def _rows(column: BinaryColumn | None, filling: Filling) -> pa.Array:
    rows = binary_array(pa.binary(), column, filling.columns.rows)
    return rows.slice(filling.start, filling.stop - filling.start)


def _scalar(content: bytes) -> pa.Scalar:
    """`pa.scalar` is not used because it imports pandas."""
    offsets = np.array([0, len(content)], np.int32)
    return pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(content)])[0]


def _text(values: pa.Array) -> pa.Array:
    """The values as UTF-8, in which a dot matches a character; if one is not UTF-8, all are searched as bytes."""
    text = values.view(pa.string())
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return values
    return text


def _to_numpy(wanted: pa.Array) -> NDArray[np.bool_]:
    """True where the array is true, not where it is false or null. pyarrow's own conversions would import pandas."""
    rows = np.zeros(len(wanted), np.bool_)
    slots = pc.indices_nonzero(wanted)
    rows[np.frombuffer(slots.buffers()[1], np.uint64, len(slots))] = True
    return rows
