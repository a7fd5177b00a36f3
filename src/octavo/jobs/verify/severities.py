"""Decides which findings are only info because a crash or a running broker normally leaves them.

docs/commands/verify.md explains these cases. What is always info is decided where it is found.
"""

from __future__ import annotations

from octavo.format.names import FileKind, SegmentFile, Transient
from octavo.format.small_files import producer_snapshot
from octavo.jobs.verify.finding import Severity
from octavo.jobs.verify.view import SegmentView


def of_tail(view: SegmentView, next_offset: int, *, are_untrimmed: bool, is_unused: bool) -> Severity:
    """Bytes after the last batch, in a segment that was not closed. `is_unused`: the log has only zeros.

    Such a log may be without indexes, which are created after it: the crash may have come in between.
    """
    is_new = view.is_last and not view.clean_shutdown and is_unused
    return _info_if((view.is_unclosed and are_untrimmed) or is_new or view.was_appended_to(next_offset))


def of_unused_entries(view: SegmentView, *, are_untrimmed: bool) -> Severity:
    """Unused entries at the end of an index, whose segment was not closed."""
    return _info_if(view.is_unclosed and are_untrimmed)


def of_largest_timestamp(view: SegmentView, next_offset: int) -> Severity:
    """A time index without the largest timestamp, whose segment was appended to after it was closed once."""
    return _info_if(view.was_appended_to(next_offset))


def of_aborted_transaction(view: SegmentView, marker_offset: int, next_offset: int) -> Severity:
    """A missing entry of the transaction index for the log's last batch: the marker is written first."""
    return _info_if(view.is_last and not view.clean_shutdown and marker_offset + 1 == next_offset)


def of_missing_index(view: SegmentView, kind: FileKind) -> Severity:
    """A crash between the renames of a `.swap` segment leaves its log under one name and an index under the other."""
    if view.segment.transient is Transient.SWAP:
        return Severity.INFO
    try:
        view.folder.child(SegmentFile(view.base_offset, kind, Transient.SWAP).name).entry()
    except OSError:
        return Severity.PROBLEM
    return Severity.INFO


def of_snapshot(content: bytes, *, may_be_torn: bool) -> Severity:
    """A producer snapshot that a crash cut short while it was written; recovery deletes it and writes another."""
    return _info_if(may_be_torn and producer_snapshot.is_torn(content))


def of_first_epoch(*, clean_shutdown: bool) -> Severity:
    """Batches before the first leader epoch.

    Deleting records changes the epochs at once, but the log's start is written to its checkpoint only once a minute and
    at a clean stop.
    """
    return _info_if(not clean_shutdown)


def _info_if(is_normal: bool) -> Severity:
    return Severity.INFO if is_normal else Severity.PROBLEM
