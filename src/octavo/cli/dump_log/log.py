"""`.log` and `.checkpoint` files: a line a batch, with deep iteration a line a record."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from octavo.cli.dump_log.batch_line import BatchRow, batch_end, batch_start
from octavo.cli.dump_log.decoders import is_plain, payload_decoder
from octavo.cli.dump_log.java_file import JavaFile
from octavo.cli.dump_log.options import MAX_INT, Options
from octavo.cli.dump_log.record_line import RecordFormat, record_line
from octavo.cli.dump_log.records import RecordReader, Span
from octavo.cli.dump_log.report import Findings
from octavo.cli.dump_log.single_batch import too_small
from octavo.cli.dump_log.span_text import SpanText, gaps
from octavo.cli.log_file import LogFile
from octavo.errors import CorruptionError, CorruptRecordError, OctavoError
from octavo.format.message import Message
from octavo.format.names import BOOTSTRAP_CHECKPOINT, base_offset_of, snapshot_id_of
from octavo.format.record import Record
from octavo.format.record_parts import signed64
from octavo.format.walker import Chunk, walk_chunks
from octavo.kernels import layout
from octavo.kernels.layout import Flaw, Stop

_PIECES_AT_ONCE = 10_000  # of text, before they are written


def dump_log(file: JavaFile, options: Options, findings: Findings) -> None:
    """Print a file as far as it can be read. The order of these steps is the order of Kafka's failures."""
    decoder = payload_decoder(options)
    max_bytes = options.integer("max-bytes")
    print(_first_line(file))
    with LogFile(file.path) as log:
        if max_bytes < 0:
            raise OctavoError(f"--max-bytes is {max_bytes}, expected 0 or more")
        shown = decoder if options.print_data_log else None
        form = RecordFormat(not options.has("skip-record-metadata"), shown, shown is None or is_plain(options))
        dump = LogDump(log, file, form if options.deep_iteration else None, findings)
        try:
            dump.run(min(max_bytes, log.size))
        except CorruptionError as error:
            raise error.at(path=str(file)) from None
        if max_bytes == MAX_INT and dump.position < log.size:
            print(f"Found {log.size - dump.position} invalid bytes at the end of {file.name}")


def _first_line(file: JavaFile) -> str:
    if file.suffix == ".log":
        return f"Log starting offset: {base_offset_of(file.name)}"
    if file.name == BOOTSTRAP_CHECKPOINT:
        return "KRaft bootstrap snapshot"
    end_offset, epoch = snapshot_id_of(file.name)
    return f"Snapshot end offset: {end_offset}, epoch: {epoch}"


class LogDump:
    """The dump of one file; `position` is the end of the last batch that was printed."""

    def __init__(self, log: LogFile, file: JavaFile, form: RecordFormat | None, findings: Findings) -> None:
        self.position = 0
        self._log = log
        self._path = file.absolute
        self._form = form
        self._findings = findings
        self._last_offset = -1
        self._reader = RecordReader()
        self._span_text = SpanText()
        self._text: list[bytes] = []

    def run(self, end: int) -> None:
        """Print the batches before `end`."""
        for chunk in walk_chunks(self._log.reader(0, end)):
            try:
                self._chunk(chunk)
            finally:
                self._flush()
            if chunk.stop is Stop.SIZE_TOO_SMALL:
                raise too_small(self._log, chunk.stop_position)

    def _chunk(self, chunk: Chunk) -> None:
        all_records = self._reader.of_batches(chunk.data, chunk.table) if self._form else None
        for row in map(BatchRow._make, chunk.table.tolist()):
            position = chunk.file_position + row.position
            batch = self._with_whole_header(row, position) if row.flaws & Flaw.TOO_SHORT else row
            self._print(batch_start(batch))
            self._print(batch_end(batch, position))
            if all_records is not None and self._form is not None:
                self._records(batch, next(all_records), self._form)
            self.position = position + batch.size
            if len(self._text) >= _PIECES_AT_ONCE:
                self._flush()

    def _records(self, batch: BatchRow, records: Iterable[Record | Message], form: RecordFormat) -> None:
        if isinstance(records, Span) and form.plain and not batch.is_control:
            offsets = records.offsets()
            if len(offsets):
                for before, offset in gaps(offsets, self._last_offset):
                    self._findings.gaps[self._path][before] = offset
                self._last_offset = int(offsets[-1])
                self._text.extend(self._span_text.lines(batch, records, form))
            return
        for record in records:
            self._follow(record.offset)
            for piece in record_line(batch, record, form):
                self._print(piece)

    def _follow(self, offset: int) -> None:
        if offset != signed64(self._last_offset + 1):
            self._findings.gaps[self._path][self._last_offset] = offset
        self._last_offset = offset

    def _with_whole_header(self, row: BatchRow, position: int) -> BatchRow:
        """Of a batch that says it is shorter than a header, Kafka reads the header all the same, from what follows."""
        content = self._log.read_at(position, layout.BATCH_OVERHEAD)
        if len(content) < layout.BATCH_OVERHEAD:
            sentence = f"a batch header of {len(content)} bytes, expected {layout.BATCH_OVERHEAD}"
            raise CorruptRecordError(sentence, position=position)
        fields = dict(zip(layout.BATCH_FIELDS, layout.BATCH_HEADER.unpack(content), strict=True))
        return row._replace(
            partition_leader_epoch=fields["partitionLeaderEpoch"],
            crc=fields["crc"],
            attributes=fields["attributes"],
            last_offset_delta=fields["lastOffsetDelta"],
            base_timestamp=fields["baseTimestamp"],
            max_timestamp=fields["maxTimestamp"],
            producer_id=fields["producerId"],
            producer_epoch=fields["producerEpoch"],
            base_sequence=fields["baseSequence"],
            records_count=fields["recordsCount"],
        )

    def _print(self, text: str) -> None:
        self._text.append(text.encode("utf-8", "surrogateescape"))

    def _flush(self) -> None:
        if sys.stdout is not None:  # closed before the start: there is nowhere to print to
            sys.stdout.flush()  # the bytes go below the text layer, behind what was printed there
            sys.stdout.buffer.write(b"".join(self._text))
        self._text.clear()
