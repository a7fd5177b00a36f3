"""Makes the lines of all records of a batch at once, if they are shown as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo import kernels
from octavo.cli.dump_log.batch_line import timestamp_type
from octavo.format.sequence import MAX_SEQUENCE, record_sequences
from octavo.kernels.integers import signed64
from octavo.kernels.layout import NO_SEQUENCE, Code

if TYPE_CHECKING:
    from octavo.cli.dump_log.record_line import RecordFormat
    from octavo.cli.dump_log.records import Span
    from octavo.format.batches.batch_row import BatchRow


class SpanText:
    """Makes the lines in a buffer, which it reuses."""

    def __init__(self) -> None:
        self._out = bytearray(1 << 18)
        self._none = np.empty(0, np.int32)

    def lines(self, batch: BatchRow, span: Span, form: RecordFormat) -> Iterator[bytes]:
        """One line per record, as UTF-8; each piece holds as many lines as fit into the buffer."""
        sequences = self._sequences(batch, span)
        kind, shown = timestamp_type(batch).encode(), form.decoder is not None
        row = span.first
        while row < span.end:
            code, next_row, end = kernels.record_lines(
                span.columns, row, span.end, sequences[row - span.first :], kind, form.metadata, shown, self._out, 0
            )
            yield bytes(memoryview(self._out)[:end])
            if code == Code.FULL and next_row == row:
                self._out = bytearray(2 * len(self._out))
            row = next_row

    def _sequences(self, batch: BatchRow, span: Span) -> NDArray[np.int32]:
        """The records' sequence numbers; usually there are none, or they are consecutive."""
        rows, base = span.end - span.first, batch.base_sequence
        if base < 0:
            if len(self._none) < rows:
                self._none = np.full(2 * rows, NO_SEQUENCE, np.int32)
            return self._none[:rows]
        offsets = span.offsets()
        if span.is_continuous and base + rows <= MAX_SEQUENCE and offsets[0] == batch.base_offset:
            return np.arange(base, base + rows, dtype=np.int32)
        return record_sequences(base, offsets - np.int64(batch.base_offset))


def gaps(offsets: NDArray[np.int64], last_offset: int) -> list[tuple[int, int]]:
    """Pairs of neighbouring offsets of which the second does not follow the first."""
    if len(offsets) == 1:
        offset = int(offsets[0])
        return [] if offset == signed64(last_offset + 1) else [(last_offset, offset)]
    before = np.concatenate((np.array([last_offset], np.int64), offsets[:-1]))
    breaks = np.flatnonzero(offsets != before + 1)
    return list(zip(before[breaks].tolist(), offsets[breaks].tolist(), strict=True))
