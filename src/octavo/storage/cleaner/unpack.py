"""Decompresses batches one after the other into one buffer, as many at a time as fit into the CPU's cache."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptionError
from octavo.format.batches.decoder import UNPACK_BATCHES, UNPACK_BYTES
from octavo.format.compression import Scratch, decompress_into
from octavo.kernels.layout import BATCH_OVERHEAD, CODEC_MASK


def unpack(
    data: memoryview, table: NDArray[np.void], skipped: NDArray[np.bool_], scratch: Scratch
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Decompress the first batches of the table into the scratch; returns where the records of each one start and end.

    For a batch that is skipped or empty, both are the same.
    """
    fields = table[["position", "size", "attributes", "count"]][:UNPACK_BATCHES].tolist()
    bounds = [0]
    for (position, size, attributes, count), skip in zip(fields, skipped.tolist(), strict=False):
        at, start = bounds[-1], position + BATCH_OVERHEAD
        if count > 0 and not skip:
            packed = data[start : position + size]
            try:
                at = decompress_into(attributes & CODEC_MASK, packed, scratch, at)
            except CorruptionError as error:
                raise error.at(position=start + (error.position or 0)) from None
        bounds.append(at)
        if at >= UNPACK_BYTES:
            break
    edges = np.array(bounds, np.int64)
    return edges[:-1], edges[1:]
