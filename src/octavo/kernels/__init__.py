"""Loops over buffers: compiled where a compiler was available, otherwise their plain-Python twins.

`OCTAVO_KERNELS=reference` selects the twins. Both have the same functions; tests compare their results.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

TWIN_NOTICE = (
    "octavo: running on plain Python, slowly: no working C compiler with Python's headers was found at installation. "
    "To get the compiled kernels, install gcc and the headers (python3-dev or python3-devel), "
    "then repeat `pip install` with --force-reinstall --no-cache-dir"
)

_compiled = os.environ.get("OCTAVO_KERNELS") != "reference"
if _compiled and not TYPE_CHECKING:
    try:
        from octavo.kernels.compiled.accumulate import append_record, close_batch, cut_batches
        from octavo.kernels.compiled.decode import decode_records
        from octavo.kernels.compiled.encode import encode_batches, encode_records
        from octavo.kernels.compiled.filter import filter_batches, foresee_fates
        from octavo.kernels.compiled.hash import crc32, crc32c, crc32c_implementation, murmur2, murmur2_column, xxh32
        from octavo.kernels.compiled.index import index_batches
        from octavo.kernels.compiled.legacy import decode_messages
        from octavo.kernels.compiled.messages import message_reader, message_writer
        from octavo.kernels.compiled.offset_map import find_offsets, map_batches, map_columns, settle_marks
        from octavo.kernels.compiled.replay import continues, replay
        from octavo.kernels.compiled.runs import encode_runs
        from octavo.kernels.compiled.seek import find_batch, find_timestamp, last_slot_up_to
        from octavo.kernels.compiled.stamp import stamp_batches
        from octavo.kernels.compiled.summary import summarize_batches
        from octavo.kernels.compiled.survey import survey_produced
        from octavo.kernels.compiled.text import record_lines
        from octavo.kernels.compiled.walk import next_run, walk
    except ModuleNotFoundError:  # not built; if it is built but broken, the error should be seen
        _compiled = False
        warnings.warn(TWIN_NOTICE, RuntimeWarning, stacklevel=2)
if TYPE_CHECKING or not _compiled:
    from octavo.kernels.reference.accumulate import append_record, close_batch, cut_batches
    from octavo.kernels.reference.decode import decode_records
    from octavo.kernels.reference.encode import encode_batches, encode_records
    from octavo.kernels.reference.filter import filter_batches, foresee_fates
    from octavo.kernels.reference.hash import crc32, crc32c, crc32c_implementation, murmur2, murmur2_column, xxh32
    from octavo.kernels.reference.index import index_batches
    from octavo.kernels.reference.legacy import decode_messages
    from octavo.kernels.reference.messages import message_reader, message_writer
    from octavo.kernels.reference.offset_map import find_offsets, map_batches, map_columns, settle_marks
    from octavo.kernels.reference.replay import continues, replay
    from octavo.kernels.reference.runs import encode_runs
    from octavo.kernels.reference.seek import find_batch, find_timestamp, last_slot_up_to
    from octavo.kernels.reference.stamp import stamp_batches
    from octavo.kernels.reference.summary import summarize_batches
    from octavo.kernels.reference.survey import survey_produced
    from octavo.kernels.reference.text import record_lines
    from octavo.kernels.reference.walk import next_run, walk

COMPILED = _compiled

__all__ = [
    "COMPILED",
    "TWIN_NOTICE",
    "append_record",
    "close_batch",
    "continues",
    "crc32",
    "crc32c",
    "crc32c_implementation",
    "cut_batches",
    "decode_messages",
    "decode_records",
    "encode_batches",
    "encode_records",
    "encode_runs",
    "filter_batches",
    "find_batch",
    "find_offsets",
    "find_timestamp",
    "foresee_fates",
    "index_batches",
    "last_slot_up_to",
    "map_batches",
    "map_columns",
    "message_reader",
    "message_writer",
    "murmur2",
    "murmur2_column",
    "next_run",
    "record_lines",
    "replay",
    "settle_marks",
    "stamp_batches",
    "summarize_batches",
    "survey_produced",
    "walk",
    "xxh32",
]
