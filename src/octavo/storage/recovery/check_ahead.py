"""Checks the segments of one log in parallel, ahead of the thread that rebuilds them one after the other.

Segments must be rebuilt in order, since each one's producers depend on all segments before it. But most of the work is
checking CRCs, which can be done in any order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Executor, Future
from typing import NamedTuple

from octavo.storage.recovery.recover import Checked, check_segment, no_progress
from octavo.storage.segment.segment import Segment
from octavo.system.runner import Progress


class Checkers(NamedTuple):
    """The threads that check segments for all logs of a directory."""

    executor: Executor
    threads: int


def check_ahead(
    segments: Sequence[Segment], checkers: Checkers | None, progress: Progress = no_progress
) -> Generator[Checked | None, None, None]:
    """The result of checking each segment, in order; None if it has to be checked while it is rebuilt.

    At most one more segment is submitted than there are threads, so little work is wasted if one proves to be damaged.
    """
    if checkers is None or len(segments) < 2:
        yield from (None for _ in segments)
        return
    begun: deque[Future[Checked]] = deque()
    try:
        for segment in segments:
            begun.append(checkers.executor.submit(check_segment, segment, progress))
            if len(begun) > checkers.threads:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        for check in begun:
            check.cancel()
