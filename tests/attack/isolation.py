"""Separate processes for what may be killed, hang or crash.

They come from a server process that has imported the library once and has no threads, so a start takes only
milliseconds.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.attack.preload"])


class Died(Exception):
    """A process died, hung or raised an error; the message says how, and where its threads were if it hung."""


def start(function: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """Run a function in its own process, which gets a pipe to this one as its last argument."""
    receiving, sending = _context.Pipe(duplex=False)
    process = _context.Process(target=function, args=(*arguments, sending))
    process.start()
    sending.close()
    return process, receiving


def isolated(function: Callable[..., Any], *arguments: Any, seconds: float, notes: Path) -> Any:
    """What a function returns in its own process; raises Died if it fails. `notes` is a folder for its last words."""
    process, receiving = start(_answer, function, arguments, seconds, notes / "hang.txt")
    try:
        outcome, error = receiving.recv()
    except EOFError:
        process.join()
        last = notes / "hang.txt"
        told = last.read_text(encoding="utf-8", errors="replace") if last.exists() else ""
        problem = f"it hung for more than {seconds} s" if told else f"it died with exit code {process.exitcode}"
        raise Died(f"{problem}: {told}") from None
    finally:
        receiving.close()
    process.join()
    if error is not None:
        raise Died(error)
    return outcome


def _answer(
    function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float, last_words: Path, sending: Connection
) -> None:
    with last_words.open("w") as file:
        faulthandler.dump_traceback_later(seconds, exit=True, file=file)
        try:
            sending.send((function(*arguments), None))
        except BaseException:
            sending.send((None, traceback.format_exc()))
        faulthandler.cancel_dump_traceback_later()
