"""A progress bar on stderr: only on a terminal, and only once the work has taken a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from octavo.system.runner import Progress

_PATIENCE_SECONDS = 0.5


@contextmanager
def progress_bar(label: str, total_bytes: int) -> Iterator[Progress]:
    """Within the block, call the given function with how many more bytes are done, from any thread."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    bar = _Bar(label, total_bytes)
    try:
        yield bar.advance
    finally:
        bar.close()


class _Bar:
    """rich's bar, imported and shown with the first progress after a moment, so that short work never pays for it."""

    def __init__(self, label: str, total_bytes: int) -> None:
        self._label = label
        self._total = total_bytes
        self._done = 0
        self._lock = Lock()
        self._shown_from: float | None = time.monotonic() + _PATIENCE_SECONDS
        self._update: Callable[[int], object] = _ignore
        self._stop: Callable[[], None] = _nothing

    def advance(self, size: int) -> None:
        with self._lock:
            self._done += size
            if self._shown_from is not None and time.monotonic() > self._shown_from:
                self._show()
            self._update(self._done)

    def close(self) -> None:
        with self._lock:
            self._stop()
            self._update = _ignore

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        self._shown_from = None
        columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        task = bar.add_task(self._label, total=self._total)
        bar.start()
        self._stop = bar.stop
        self._update = lambda done: bar.update(task, completed=done)


def _ignore(_: int) -> None:
    """Ignore progress while no bar is shown."""


def _nothing() -> None:
    """Stop a bar that was never shown."""
