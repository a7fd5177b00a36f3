"""A progress bar on stderr: only on a terminal and unless stdout is a pipe, once the work has taken a moment."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from octavo.system.runner import Progress

_PATIENCE_SECONDS = 0.5
_bars: list[_Bar] = []  # the active ones, the innermost last


@contextmanager
def progress_bar(label: str, total_bytes: int) -> Iterator[Progress]:
    """Yields a function to call with the number of bytes done since the last call, from any thread."""
    if not sys.stderr.isatty() or _is_pipe(sys.stdout):
        yield lambda _: None
        return
    bar = _Bar(label, total_bytes)
    _bars.append(bar)
    try:
        yield bar.advance
    finally:
        _bars.remove(bar)
        bar.close()


def print_line(line: str, stream: TextIO) -> None:
    """Print a line, above the bar if one is shown on the same terminal."""
    if not (_bars and _is_terminal_of_bars(stream) and _bars[-1].print_above(line)):
        # print() writes its `end` separately, and another thread's line may come between.
        print(f"{line}\n", end="", file=stream)


class _Bar:
    """rich's bar, imported and shown with the first progress after a moment, so that short work never pays for it."""

    def __init__(self, label: str, total_bytes: int) -> None:
        self._label = label
        self._total = total_bytes
        self._done = 0
        self._lock = Lock()
        self._shown_from = time.monotonic() + _PATIENCE_SECONDS
        self._shown: RichProgress | None = None

    def advance(self, size: int) -> None:
        with self._lock:
            self._done += size
            if self._shown is None and time.monotonic() > self._shown_from:
                self._shown = self._show()
            if self._shown is not None:
                self._shown.update(self._shown.task_ids[0], completed=self._done)

    def print_above(self, line: str) -> bool:
        """Print a line above the bar; returns whether a bar is shown."""
        with self._lock:
            if self._shown is None:
                return False
            # The line goes through the bar's own console, which takes the bar off the screen meanwhile. It is final:
            # rich must neither wrap it nor interpret anything in it.
            self._shown.console.out(line, highlight=False)
            return True

    def close(self) -> None:
        with self._lock:
            if self._shown is not None:
                self._shown.stop()
            self._shown_from, self._shown = float("inf"), None

    def _show(self) -> RichProgress:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
        # With redirected streams rich would print results to stderr, even if stdout is a file.
        bar = RichProgress(
            *columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False
        )
        bar.add_task(self._label, total=self._total or None)  # None: not known
        bar.start()
        return bar


def _is_pipe(stream: TextIO) -> bool:
    """Whether another program reads the results; it may write to the same terminal."""
    try:
        return stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except OSError:  # a stream without a descriptor
        return False


def _is_terminal_of_bars(stream: TextIO) -> bool:
    """Whether the stream goes to the terminal that stderr goes to."""
    if stream is sys.stderr:
        return True
    try:
        return stream.isatty() and os.path.sameopenfile(stream.fileno(), sys.stderr.fileno())
    except OSError:  # a stream without a descriptor
        return False
