"""Snapshots of the cluster's metadata, `*.checkpoint`: files of batches, from a header record to a footer record."""

from __future__ import annotations

import numpy as np

from octavo.jobs.verify.finding import Findings, Problem
from octavo.jobs.verify.records import RecordCheck
from octavo.jobs.verify.view import Part
from octavo.kernels.layout import CONTROL, Stop
from octavo.scan.location import Location
from octavo.scan.segment_log import last_offsets, walk_file


def check_kraft_snapshot(path: Location, findings: Findings) -> None:
    """Every batch's CRC and records, and that the file is whole: the last batch is the footer, a control batch."""
    records = RecordCheck(path, findings)
    ends_with_control = False
    try:
        with path.open() as file:
            for chunk in walk_file(file, 0, file.size()):
                table = chunk.table
                for row in table[table["flaws"] != 0]:
                    position = chunk.file_position + int(row["position"])
                    detail = f"the CRC of the batch at offset {row['base_offset']} is not the stored {row['crc']}"
                    findings.add(path, position, Problem.CRC_MISMATCH, detail)
                sound = table[table["flaws"] == 0]
                if len(sound):
                    positions = sound["position"] + chunk.file_position
                    records.take(Part(chunk.data, sound, chunk.file_position, positions, last_offsets(sound)))
                    ends_with_control = bool(np.bitwise_and(sound[-1]["attributes"], CONTROL))
                if chunk.stop not in (None, Stop.END):
                    findings.add(path, chunk.stop_position, Problem.NO_BATCH, "bytes that are no whole batch")
                    return
    except FileNotFoundError:
        return
    except OSError as error:
        findings.add_failure(path, error)
        return
    if not ends_with_control:
        findings.add(path, None, Problem.INCOMPLETE_BATCH, "the snapshot does not end with its footer")
