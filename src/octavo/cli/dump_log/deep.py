"""Deep iteration: the lines of the records, which are printed after the line of their batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from octavo.cli.dump_log.decoders import is_plain, payload_decoder
from octavo.cli.dump_log.record_line import RecordFormat, record_line
from octavo.cli.dump_log.records import RecordReader, Span
from octavo.cli.dump_log.span_text import SpanText, gaps
from octavo.kernels.integers import signed64

if TYPE_CHECKING:
    from octavo.cli.dump_log.options import Options
    from octavo.cli.dump_log.report import DumpFindings
    from octavo.format.batches.batch_row import BatchRow
    from octavo.format.batches.chunk_walk import Chunk
    from octavo.format.legacy.message import Message
    from octavo.format.record import Record


class DeepDump:
    """Makes the lines of the records, in file order; reports offsets that are not consecutive as findings."""

    def __init__(self, path: str, options: Options, findings: DumpFindings) -> None:
        shown = payload_decoder(options) if options.print_data_log else None
        self._form = RecordFormat(not options.has("skip-record-metadata"), shown, shown is None or is_plain(options))
        self._path = path
        self._findings = findings
        self._last_offset = -1
        self._reader = RecordReader()
        self._span_text = SpanText()
        self._records: Iterator[Iterable[Record | Message]] = iter(())

    def begin(self, chunk: Chunk) -> None:
        """Move to the batches of a chunk."""
        self._records = self._reader.of_batches(chunk.data, chunk.table)

    def lines(self, batch: BatchRow) -> Iterator[bytes]:
        """The lines of the next batch, in pieces: after a failure the pieces before it are still printed."""
        records = next(self._records)
        if isinstance(records, Span) and self._form.plain and not batch.is_control:
            yield from self._span(batch, records)
            return
        for record in records:
            self._follow(record.offset)
            for piece in record_line(batch, record, self._form):
                yield piece.encode("utf-8", "surrogateescape")

    def _span(self, batch: BatchRow, span: Span) -> Iterator[bytes]:
        offsets = span.offsets()
        if len(offsets):
            for before, offset in gaps(offsets[: 1 if span.is_continuous else None], self._last_offset):
                self._findings.gaps[self._path][before] = offset
            self._last_offset = int(offsets[-1])
            yield from self._span_text.lines(batch, span, self._form)

    def _follow(self, offset: int) -> None:
        if offset != signed64(self._last_offset + 1):
            self._findings.gaps[self._path][self._last_offset] = offset
        self._last_offset = offset
