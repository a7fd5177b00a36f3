"""Dumps `.index` files: compares each entry with the batch it points to."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.cli.dump_log.java_file import JavaFile
from octavo.cli.dump_log.log_file import DumpedLog
from octavo.cli.dump_log.options import Options
from octavo.cli.dump_log.report import DumpFindings
from octavo.cli.dump_log.single_batch import batch_at
from octavo.errors import CorruptionError, OctavoError
from octavo.format.indexes.index import SparseIndex
from octavo.format.indexes.offset_index import OffsetIndex
from octavo.format.names import base_offset_of
from octavo.system.regular_file import read_regular


def dump_offset_index(file: JavaFile, options: Options, findings: DumpFindings) -> None:
    base_offset = base_offset_of(file.name)
    log_path = file.sibling(".log")
    with DumpedLog(log_path) as log:
        index = OffsetIndex.decode(read_regular(file.path), base_offset)
        if not len(index):
            print(f"{file} is empty.")
        elif options.has("index-sanity-check"):
            check_sanity(index, file)
        else:
            _dump_entries(index, log, file, options, findings)


def check_sanity(index: SparseIndex[Any], file: JavaFile) -> None:
    try:
        index.sanity_check()
    except CorruptionError as error:
        raise error.at(path=file.path) from None
    print(f"{file} passed sanity check.")


def entries_to_show(index: SparseIndex[Any]) -> int:
    """How many entries come before the zeros of an untrimmed file: after slot 0, the first entry with the base offset
    is taken for one of these."""
    zeros = np.flatnonzero(index.slots["relative_offset"][1:] == 0)
    return int(zeros[0]) + 1 if len(zeros) else len(index)


def _dump_entries(index: OffsetIndex, log: DumpedLog, file: JavaFile, options: Options, findings: DumpFindings) -> None:
    show, count = not options.has("verify-index-only"), entries_to_show(index)
    offsets, positions = index.offsets()[:count].tolist(), index.positions()[:count].tolist()
    max_message_size = options.integer("max-message-size")
    for offset, position in zip(offsets, positions, strict=True):
        last_offset = _last_offset(log, position, max_message_size)
        if last_offset != offset:
            findings.index_mismatches[file.absolute][offset] = last_offset
        if show:
            print(f"offset: {offset} position: {position}")


def _last_offset(log: DumpedLog, position: int, max_message_size: int) -> int:
    if not 0 <= position <= log.size:
        expected = f"expected a position inside the log of {log.size} bytes"
        raise CorruptionError(f"an index entry that points to position {position}, {expected}", path=log.path)
    if max_message_size < 0:
        raise OctavoError(f"--max-message-size is {max_message_size}, expected 0 or more")
    batch = batch_at(log, position, min(position + max_message_size, log.size))
    if batch is None:
        raise CorruptionError("no whole batch where an index entry points", position=position, path=log.path)
    return batch.last_offset
