"""The buffer into which streams are decompressed, reused from batch to batch."""

from __future__ import annotations

from octavo.errors import DecompressionLimitError


class Scratch:
    """A buffer that grows and never shrinks.

    Writing to fresh memory costs three to four times as much as writing to memory in use, so a reader keeps one scratch
    for all its batches. Not thread-safe: use one per thread. A view shows its bytes until they are overwritten; when
    the buffer has to grow, older views keep the old memory alive.
    """

    __slots__ = ("buffer",)

    def __init__(self) -> None:
        self.buffer = fresh_buffer(0)

    def reserve(self, end: int, keep: int = 0) -> memoryview:
        """The whole buffer, at least `end` bytes long; the first `keep` bytes keep their content."""
        buffer = self.buffer
        if len(buffer) < end:
            grown = fresh_buffer(max(end, 2 * len(buffer)))
            grown[:keep] = buffer[:keep]
            self.buffer = buffer = grown
        return buffer


def fresh_buffer(capacity: int) -> memoryview:
    """Uninitialised memory: a page costs nothing until it is written to."""
    import numpy as np  # imported here: it takes longer to load than a small file takes to read

    try:
        return np.empty(capacity, np.uint8).data
    except MemoryError:
        raise DecompressionLimitError(f"not enough memory for a buffer of {capacity} bytes") from None
