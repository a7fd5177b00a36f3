"""KeyboardInterrupt at a chosen step of the clients' code: the n-th point where a signal could be noticed."""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import octavo

_SOURCE = Path(octavo.__file__).parent
_TRACED = tuple(str(_SOURCE / name) for name in ("client", "system/scheduler.py", "system/signals.py"))


class Interrupter:
    """Raises KeyboardInterrupt at one point within a `with` block; `points` counts how many it passed.

    Python checks for signals where a function begins, after calls and where a loop goes back. So a function's first
    step, its return to the clients' code and each of its lines are such points, except for lines with `with`, `try` or
    `finally`, which make no call themselves: locks are taken and released in one step with what comes before and after.
    """

    def __init__(self, at: int) -> None:
        self._at = at
        self.points = 0

    def __enter__(self) -> Interrupter:
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        if not frame.f_code.co_filename.startswith(_TRACED):
            return None
        self._pass(frame, event)
        return self._trace_in

    def _trace_in(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        self._pass(frame, event)
        return self._trace_in

    def _pass(self, frame: FrameType, event: str) -> None:
        if event == "exception" or (event == "return" and not _returns_to_clients(frame)):
            return
        if event == "line" and _is_block(frame.f_code.co_filename, frame.f_lineno):
            return
        self.points += 1
        if self.points - 1 == self._at:
            sys.settrace(None)
            raise KeyboardInterrupt(f"{frame.f_code.co_filename}:{frame.f_lineno} {event}")


def _returns_to_clients(frame: FrameType) -> bool:
    """Whether a call, but not a generator, returns to the clients' code, where an interrupt loses its value."""
    caller = frame.f_back
    is_generator = bool(frame.f_code.co_flags & inspect.CO_GENERATOR)
    return not is_generator and caller is not None and caller.f_code.co_filename.startswith(_TRACED)


@cache
def _is_block(path: str, line: int) -> bool:
    return linecache.getline(path, line).lstrip().startswith(("with ", "try:", "finally:"))


def interrupted(run: Callable[[], object], first: int = 0, stride: int = 1) -> Iterator[str | None]:
    """Run something again and again, each time interrupted at a later point, until it finishes.

    Yields after each run where it was interrupted, or None at the end.
    """
    at = first
    while True:
        interrupter, place = Interrupter(at), None
        try:
            with interrupter:
                run()
        except KeyboardInterrupt as error:
            place = str(error)
        yield place
        if interrupter.points <= at:
            return
        at += stride
