"""Ctrl-C at any moment of any call: the same objects continue or say that they are closed, and closing succeeds.

There are two ways: at a counted line of the library, and by a timer.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import octavo
from octavo.errors import OctavoError
from tests.attack.after_loss import after_kill
from tests.attack.journal import Memory
from tests.attack.scene import Scene, Work
from tests.attack.tally import Tally
from tests.attack.works import all_works
from tests.attack.worlds import Complaints, make_topics, opened

INTERRUPTS_OF_ONE_DIRECTORY = 25
MOST_REFUSALS = 3  # this many in a row mean that a work has not recovered
CLOSE_SECONDS = 20
_LIBRARY = str(Path(octavo.__file__).parent)


def _called_by_tracing(name: str) -> Any:
    """One of Python's own C functions as a trace function."""
    function = ctypes.pythonapi[name]
    function.argtypes = [ctypes.py_object] * 3
    function.restype = None
    return function


# Python raises where it checks for signals, which is not at each line. A trace function that raised, or one in Python,
# would leave locks held that no real signal leaves held. These two are C functions.
_note_signal = _called_by_tracing("PyErr_SetInterrupt")
_do_nothing = _called_by_tracing("Py_GetVersion")


@contextmanager
def at_line(number: int) -> Iterator[None]:
    """Raise a KeyboardInterrupt once the block has run about this many lines of the library."""
    left = number

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(_LIBRARY):
            return None
        left -= 1
        if left > 0 or event == "return":  # the returned function is then never called
            return trace
        sys.settrace(_do_nothing)
        outer = frame.f_back
        while outer is not None:
            outer.f_trace = None
            outer = outer.f_back
        return _note_signal

    signal.signal(signal.SIGINT, _interrupt)
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


def _interrupt(*_: object) -> None:
    sys.settrace(None)  # once is enough
    raise KeyboardInterrupt


@contextmanager
def after(seconds: float) -> Iterator[None]:
    """Raise a KeyboardInterrupt after a time within the block."""
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def attack(seed: int, folder: Path, interrupts: int = INTERRUPTS_OF_ONE_DIRECTORY) -> Tally:
    """Interrupt the works on one directory this many times, close it, and check that everything is there."""
    draw, root, journal, tally = Random(f"interrupts {seed}"), folder / "logs", Memory(), Tally()
    Complaints(lambda told: tally.findings.append(f"logged: {told}"))
    logs = opened(root)
    make_topics(logs)
    works = all_works(Scene(logs, journal, draw))
    while tally.counts["interrupts"] < interrupts and not tally.findings:
        work = draw.choice(works)
        tally.counts["interrupts"] += _interrupted(work, draw)
        tally.findings += _refuses(work)
    closing = threading.Thread(target=logs.close, daemon=True)
    closing.start()
    closing.join(CLOSE_SECONDS)
    if logs.offline:
        tally.findings.append(f"offline: {logs.offline}")
    if closing.is_alive():
        tally.findings.append("close() hangs")
    else:
        found, _ = after_kill(root, journal.lines, is_crash=False)
        tally.add(found)
    return tally


def _interrupted(work: Work, draw: Random) -> bool:
    """Interrupt a step; returns whether it was interrupted, rather than finishing first."""
    by_line = draw.random() < 0.7
    try:
        with at_line(draw.randint(1, 4000)) if by_line else after(draw.uniform(0.0001, 0.02)):
            work.step()
    except KeyboardInterrupt:
        return True
    except OctavoError:  # an earlier interrupt may have left a client that refuses
        pass
    return False


def _refuses(work: Work) -> Iterator[str]:
    """The error of a work that does not recover."""
    for attempt in range(MOST_REFUSALS):
        try:
            work.step()
            return
        except OctavoError as error:
            if attempt == MOST_REFUSALS - 1:
                yield f"{type(work).__name__} after an interrupt: {type(error).__name__}: {error}"
