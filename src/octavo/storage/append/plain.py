"""The shortest path of an append, for what nearly every producer sends: one uncompressed batch, accepted unchanged.

For a batch that `assign_plain` accepts, `examine` and `assign_offsets` would give the same; they are for all others.
"""

from __future__ import annotations

import threading

import numpy as np

from octavo import kernels
from octavo.kernels.layout import BATCH
from octavo.storage.append.assignment import WritableBatches
from octavo.storage.append_origin import AppendRequest
from octavo.storage.log.validation_settings import ValidationSettings

Survey = tuple[int, int, int, bool]
"""The oldest and the latest timestamp of a batch's records, how many have no key, and whether a producer id is set."""


class _Rows(threading.local):
    """A table for one batch per thread, created once: creating it takes as long as checking a small batch."""

    def __init__(self) -> None:
        self.one = np.empty(1, BATCH)


_rows = _Rows()


def survey(view: memoryview, request: AppendRequest, settings: ValidationSettings) -> Survey | None:
    """A summary of the records in the only batch; None if a closer look is necessary."""
    if not (request.origin.assigns_offsets and settings.keeps_plain and len(view) <= settings.max_message_bytes):
        return None
    return kernels.survey_produced(view, _rows.one, not request.trusted)


def assign_plain(
    view: memoryview, surveyed: Survey, first_offset: int, now_ms: int, leader_epoch: int, settings: ValidationSettings
) -> WritableBatches | None:
    """The batch that this thread has just surveyed, with its offsets; None if the topic may not accept it unchanged.

    A writable buffer is changed in place. The table is valid until this thread's next append.
    """
    oldest, latest, null_keys, has_producer = surveyed
    if not settings.keeps_plain or (null_keys and settings.is_compacted):
        return None
    if not settings.takes_times(oldest, latest, now_ms):
        return None
    data, table = memoryview(bytearray(view)) if view.readonly else view, _rows.one
    next_offset = kernels.stamp_batches(data, table, first_offset, leader_epoch, False, None)
    return WritableBatches(data, table, first_offset, next_offset - 1, latest, has_producer)
