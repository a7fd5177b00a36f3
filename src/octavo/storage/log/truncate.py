"""Cutting a log's end, as a follower does that wrote something else than its leader."""

from __future__ import annotations

from octavo.errors import OctavoError
from octavo.storage.log.log_state import LogState


def truncate_to(state: LogState, offset: int) -> bool:
    """Drop every batch that holds the offset or lies behind it; says whether the log changed.

    1. Delete the segments behind the offset, and their snapshots, after a delay. 2. Cut the active segment. 3. Move
    the log's end, and with it the recovery point: what follows it on the disk must be checked after a crash. 4. Cut
    the epochs. 5. Bring the producers back to the offset. 6. Lower log start and high watermark where they lie
    behind. A crash leaves a log that is longer than it should be; whoever asked for the cut asks again.
    """
    with state.lock:
        if offset < 0:
            raise OctavoError(f"cannot truncate to offset {offset}, expected 0 or more")
        log_end_offset = state.local.log_end_offset
        if offset >= log_end_offset:
            state.epochs.truncate_from_end(log_end_offset)
            return False
        if state.local.segments.first.base_offset > offset:
            truncate_fully(state, offset)
            return True
        gone = state.local.truncate_to(offset)
        state.delete_snapshots(gone)
        state.epochs.truncate_from_end(offset)
        state.log_start_offset = min(state.log_start_offset, offset)
        state.producers.rebuild(state.local.segments, state.log_start_offset, offset, clean=False)
        state.update_high_watermark(min(state.high_watermark, offset))
        return True


def truncate_fully(state: LogState, offset: int, log_start_offset: int | None = None) -> None:
    """Drop everything and begin anew at an offset; a log start behind it keeps readers from what a leader lacks."""
    with state.lock:
        state.local.truncate_fully(offset)
        state.epochs.clear()
        state.producers.start_at(offset)
        state.log_start_offset = offset if log_start_offset is None else log_start_offset
        state.producers.rebuild(state.local.segments, state.log_start_offset, offset, clean=False)
        state.update_high_watermark(offset)
