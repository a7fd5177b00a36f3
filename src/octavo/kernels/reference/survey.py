"""Checks a producer's batch as a whole, in plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo.kernels import layout
from octavo.kernels.layout import Flaw, Stop
from octavo.kernels.reference.columns import DecodeProblem
from octavo.kernels.reference.decode import read_record
from octavo.kernels.reference.varint import BrokenVarintError
from octavo.kernels.reference.walk import walk

if TYPE_CHECKING:
    from typing_extensions import Buffer

_UNSUITABLE = layout.CODEC_MASK | layout.LOG_APPEND_TIME | layout.CONTROL


def survey_produced(data: Buffer, table: NDArray[np.void], check_crc: bool) -> tuple[int, int, int, bool] | None:
    """The oldest and the latest timestamp of the records in a producer's batch, how many have no key, and whether the
    batch has a producer id; its row goes into `table`.

    None, with an undefined row, unless `data` is exactly one sound v2 batch of data with CreateTime that is not
    compressed, with the base offset 0, the right count and latest timestamp (-1 or more) in its header, and a sequence
    if it has a producer id: anything else needs a closer look.
    """
    view = memoryview(data).cast("B")
    rows, _, stop = walk(view, 0, len(view), table[:1], check_crc)
    if rows != 1 or stop != Stop.END or not _is_produced(table[0]):
        return None
    batch, at, end = table[0], layout.BATCH_OVERHEAD, len(view)
    count = int(batch["count"])
    if count * layout.MIN_RECORD_BYTES > end - at:
        return None
    times, null_keys = [], 0
    try:
        for _ in range(count):
            record, at = read_record(view, at, end, batch)
            times.append(record.timestamp)
            null_keys += record.key is None
    except (DecodeProblem, BrokenVarintError):
        return None
    if at != end or not -1 <= max(times) == batch["max_timestamp"]:
        return None
    return min(times), max(times), null_keys, bool(batch["producer_id"] > -1)


def _is_produced(batch: np.void) -> bool:
    is_whole = batch["magic"] == 2 and not batch["flaws"] & ~Flaw.UNCHECKED
    is_plain = batch["base_offset"] == 0 and not batch["attributes"] & _UNSUITABLE
    is_counted = batch["count"] > 0 and batch["count"] - 1 == batch["last_offset_delta"]
    return bool(is_whole and is_plain and is_counted and (batch["producer_id"] <= -1 or batch["base_sequence"] >= 0))
