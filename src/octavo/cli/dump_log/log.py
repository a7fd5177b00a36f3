"""Dumps `.log` and `.checkpoint` files: one line per batch and, with deep iteration, one line per record."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from octavo.cli.dump_log.batch_line import batch_end, batch_start
from octavo.cli.dump_log.log_file import DumpedLog
from octavo.cli.dump_log.options import Options
from octavo.cli.dump_log.single_batch import header_fields, too_small
from octavo.errors import CorruptionError, OctavoError
from octavo.format.batches.batch_row import BatchRow
from octavo.format.batches.chunk_walk import Chunk, walk_chunks
from octavo.format.names import BOOTSTRAP_CHECKPOINT, base_offset_of, snapshot_id_of
from octavo.kernels import layout
from octavo.kernels.integers import INT32_MAX
from octavo.kernels.layout import BATCH_ROW, Flaw, Stop

if TYPE_CHECKING:
    from octavo.cli.dump_log.deep import DeepDump
    from octavo.cli.dump_log.java_file import JavaFile
    from octavo.cli.dump_log.report import DumpFindings

_PIECES_AT_ONCE = 10_000  # pieces of text per write


def dump_log(file: JavaFile, options: Options, findings: DumpFindings) -> None:
    """Print a file as far as it can be read. Checks come in Kafka's order, so that the same one fails first."""
    deep = None
    if options.deep_iteration:
        from octavo.cli.dump_log.deep import DeepDump  # imports numpy, which takes half of a small dump's time

        deep = DeepDump(file.absolute, options, findings)
    max_bytes = options.integer("max-bytes")
    print(_first_line(file))
    with DumpedLog(file.path) as log:
        if max_bytes < 0:
            raise OctavoError(f"--max-bytes is {max_bytes}, expected 0 or more")
        dump = LogDump(log, deep)
        try:
            dump.run(min(max_bytes, log.size))
        except CorruptionError as error:
            raise error.at(path=str(file)) from None
        if max_bytes == INT32_MAX and dump.position < log.size:
            print(f"Found {log.size - dump.position} invalid bytes at the end of {file.name}")


def _first_line(file: JavaFile) -> str:
    if file.suffix == ".log":
        return f"Log starting offset: {base_offset_of(file.name)}"
    if file.name == BOOTSTRAP_CHECKPOINT:
        return "KRaft bootstrap snapshot"
    end_offset, epoch = snapshot_id_of(file.name)
    return f"Snapshot end offset: {end_offset}, epoch: {epoch}"


class LogDump:
    """The dump of one file; `position` is the end of the last batch printed."""

    def __init__(self, log: DumpedLog, deep: DeepDump | None) -> None:
        self.position = 0
        self._log = log
        self._deep = deep
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
        if self._deep is not None:
            self._deep.begin(chunk)
        for row in map(BatchRow._make, BATCH_ROW.iter_unpack(chunk.rows)):
            position = chunk.file_position + row.position
            batch = self._with_whole_header(row, position) if row.flaws & Flaw.TOO_SHORT else row
            self._text.append(batch_start(batch).encode())
            self._text.append(batch_end(batch, position).encode())
            if self._deep is not None:
                self._text.extend(self._deep.lines(batch))
            self.position = position + batch.size
            if len(self._text) >= _PIECES_AT_ONCE:
                self._flush()

    def _with_whole_header(self, row: BatchRow, position: int) -> BatchRow:
        """Read a whole header even if the batch claims to be shorter, as Kafka does."""
        fields = header_fields(self._log.read_at(position, layout.BATCH_OVERHEAD), self._log, position)
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
            record_count=fields["recordsCount"],
        )

    def _flush(self) -> None:
        sys.stdout.flush()  # the bytes bypass the text layer, and must follow what was printed there
        sys.stdout.buffer.writelines(self._text)
        self._text.clear()
