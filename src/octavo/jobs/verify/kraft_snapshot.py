"""Checks snapshots of the cluster metadata, `*.checkpoint`: files of batches, from a header record to a footer
record."""

from __future__ import annotations

import numpy as np

from octavo.format.batches.batch_summary import last_offsets
from octavo.format.batches.chunk_walk import Chunk
from octavo.format.names import KRaftSnapshot
from octavo.jobs.verify.finding import FindingCollector, FindingKind
from octavo.jobs.verify.log import flaw_of
from octavo.jobs.verify.records import RecordCheck
from octavo.jobs.verify.view import LogPart
from octavo.kernels.layout import CONTROL, Stop
from octavo.scanner.places.location import Location
from octavo.scanner.places.segment_log import walk_file


def check_kraft_snapshot(path: Location, findings: FindingCollector) -> None:
    """Check the batches, up to bytes that are not one, and that the file is complete.

    A file deleted in the meantime is not a finding.
    """
    try:
        _Check(path, findings).run()
    except FileNotFoundError:
        return
    except OSError as error:
        findings.add_failure(path, error)


class _Check:
    """The offsets of a snapshot's records run from 0 without a gap; all batches have the epoch in its name or, if it
    has none there, that of the first batch."""

    def __init__(self, path: Location, findings: FindingCollector) -> None:
        self._path = path
        self._findings = findings
        self._records = RecordCheck(path, findings)
        self._next_offset = 0
        self._ends_with_control = False
        parsed = KRaftSnapshot.parse(path.name)
        self._epoch = None if parsed is None else parsed.epoch

    def run(self) -> None:
        with self._path.open() as file:
            for chunk in walk_file(file, 0, file.size()):
                self._take(chunk)
                if chunk.stop not in (None, Stop.END):
                    self._add(chunk.stop_position, FindingKind.NO_BATCH, "bytes that are not a whole batch")
                    return
        if not self._ends_with_control:
            self._add(None, FindingKind.INCOMPLETE_BATCH, "the snapshot does not end with its footer, a control record")

    def _take(self, chunk: Chunk) -> None:
        table = chunk.table
        for row in table[table["flaws"] != 0]:
            self._add(chunk.file_position + int(row["position"]), *flaw_of(row))
        sound = table[table["flaws"] == 0]
        if not len(sound):
            return
        positions = sound["position"] + chunk.file_position
        part = LogPart(chunk.data, sound, chunk.file_position, positions, last_offsets(sound))
        self._records.take(part)
        if not table["flaws"].any():
            self._check_headers(part)
        self._next_offset = int(part.last_offsets[-1]) + 1
        self._ends_with_control = bool(sound[-1]["attributes"] & CONTROL)

    def _check_headers(self, part: LogPart) -> None:
        found, epochs = part.table["base_offset"], part.table["partition_leader_epoch"]
        expected = np.concatenate([[self._next_offset], part.last_offsets[:-1] + 1])
        for row in np.flatnonzero(found != expected):
            detail = f"offset {found[row]}, expected {expected[row]}"
            self._add(int(part.positions[row]), FindingKind.OFFSET_ORDER, detail)
        if self._epoch is None:
            self._epoch = int(epochs[0])
        for row in np.flatnonzero(epochs != self._epoch):
            detail = f"leader epoch {epochs[row]}, expected {self._epoch}"
            self._add(int(part.positions[row]), FindingKind.LEADER_EPOCH, detail)

    def _add(self, position: int | None, problem: FindingKind, detail: str) -> None:
        self._findings.add(self._path, position, problem, detail)
