"""Columns of records for the kernels that encode them: sound ones, and ones that must be refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.kernels.columns import BinaryColumn, RecordColumns


def binary(*values: bytes | None) -> BinaryColumn:
    offsets = np.cumsum([0, *(len(value or b"") for value in values)]).astype(np.int32)
    data = np.frombuffer(b"".join(value or b"" for value in values), np.uint8)
    valid = np.packbits(np.array([value is not None for value in values], np.bool_), bitorder="little")
    return BinaryColumn(offsets, data, valid)


def columns(rows: int = 1, **given: Any) -> RecordColumns:
    """Offsets 0, 1, …, timestamps 0, and what is given."""
    defaults = {"offset": np.arange(rows), "timestamp": np.zeros(rows, np.int64), "key": None, "value": None}
    return RecordColumns(**defaults | given, rows=rows)


def spoiled() -> dict[str, RecordColumns]:
    """Columns that must be refused, each wrong in one way; most point outside their arrays."""
    good = binary(b"ab", b"c")
    descending, beyond, before, short = binary(b"ab", b"c"), binary(b"ab", b"c"), binary(b"ab", b"c"), binary(b"ab")
    descending.offsets[1], beyond.offsets[2], before.offsets[0] = 3, 4, -1
    descending.offsets[2] = 2
    few_bits = binary(*[b"a"] * 2)
    few_bits.validity = few_bits.validity[:0] if few_bits.validity is not None else None
    headers = {"header_key": good, "header_value": good}

    def with_headers(*ends: int, **other: Any) -> RecordColumns:
        return columns(2, header_offsets=np.array(ends, np.int32), **headers | other)

    return {
        "offsets descend": columns(2, key=descending),
        "an offset beyond the data": columns(2, value=beyond),
        "an offset before the data": columns(2, key=before),
        "too few values": columns(2, value=short),
        "too few bits": columns(2, key=few_bits),
        "too few timestamps": columns(2, timestamp=np.zeros(1, np.int64)),
        "more rows than there are": columns(3, offset=np.arange(2), timestamp=np.zeros(2, np.int64)),
        "header offsets descend": with_headers(0, 2, 1),
        "a negative header offset": with_headers(-1, 0, 1),
        "more headers than there are": with_headers(0, 1, 3),
        "far more headers than there are": with_headers(0, 1, 2**31 - 1),
        "too few header offsets": with_headers(0, 1),
        "header keys that lead outside": with_headers(0, 1, 2, header_key=beyond),
        "header values that lead outside": with_headers(0, 1, 2, header_value=descending),
        "headers without keys": with_headers(0, 1, 2, header_key=None),
        "a header whose key is null": with_headers(0, 1, 2, header_key=binary(b"a", None)),
    }
