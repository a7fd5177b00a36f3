"""Checks the records of an uncompressed v2 batch, in plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo.kernels import layout
from octavo.kernels.reference.columns import DecodeProblem
from octavo.kernels.reference.decode import read_record
from octavo.kernels.reference.varint import BrokenVarintError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_UNSUITABLE = layout.CODEC_MASK | layout.LOG_APPEND_TIME


def survey_records(data: Buffer, table: NDArray[np.void], row: int) -> tuple[int, int, int, bool] | None:
    """The oldest and the latest timestamp of a batch's records, how many have no key, and whether their offsets are 0,
    1, 2, …

    None if the batch has no records, if they cannot be read, are compressed or in an old format, or have the batch's
    timestamp instead of their own: then only decoding them tells more.
    """
    if not 0 <= row < len(table):
        return None
    view, batch = memoryview(data).cast("B"), table[row]
    position, size, count = int(batch["position"]), int(batch["size"]), int(batch["count"])
    at, end = position + layout.BATCH_OVERHEAD, position + size
    is_inside = 0 <= position <= end <= len(view) and size >= layout.BATCH_OVERHEAD
    if not is_inside or batch["magic"] != 2 or batch["attributes"] & _UNSUITABLE:
        return None
    if count <= 0 or count * layout.MIN_RECORD_BYTES > end - at:
        return None
    rows = []
    try:
        for _ in range(count):
            record, at = read_record(view, at, end, batch)
            rows.append(record)
    except (DecodeProblem, BrokenVarintError):
        return None
    if at != end:
        return None
    times = [record.timestamp for record in rows]
    is_numbered = [record.offset for record in rows] == list(range(count))
    return min(times), max(times), sum(record.key is None for record in rows), is_numbered
