"""One round of retention on a log: facts gathered, verdicts asked for, condemned segments taken out."""

from __future__ import annotations

from octavo.storage.log import retain
from octavo.storage.log.log_state import LogState
from octavo.storage.log.retain import LogFacts, SegmentFacts, Verdict


def retention_round(state: LogState, *, dry_run: bool) -> list[Verdict]:
    """Drop the segments that the limits condemn; says what becomes of each and why. The caller holds the log's lock.

    1. If all go, roll first. 2. Raise the log start to the first segment that stays. 3. Take the others out of
    the log, rename them to `.deleted`, remove them after file.delete.delay.ms. A crash after 2 leaves segments
    before the log's start, or `.deleted` files, which upkeep removes.
    """
    local = state.local
    segments = list(local.segments)
    ends = [*local.segments.base_offsets[1:], local.log_end_offset]
    facts = [
        SegmentFacts(segment.base_offset, end, segment.size, segment.largest_timestamp, segment is segments[-1])
        for segment, end in zip(segments, ends, strict=True)
    ]
    log = LogFacts(state.log_start_offset, state.high_watermark, state.environment.clock.time_ms())
    found = retain.verdicts(facts, log, state.config)
    condemned = {verdict.base_offset for verdict in found if verdict.reason is not None}
    gone = [segment for segment in segments if segment.base_offset in condemned]
    if not gone or dry_run:
        return found
    if len(gone) == len(segments):
        state.roll(local.log_end_offset)
    following = local.segments.after(gone[-1])
    assert following is not None, "a log without a segment"
    state.advance_log_start(following.base_offset)
    state.delete_segments(gone)
    return found
