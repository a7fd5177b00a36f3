"""`main`: runs one command and turns its outcome into an exit code and at most one sentence on stderr.

Every command pays for the imports here, so this module avoids dataclasses, pathlib and traceback, which take a few ms
each.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import cast

from octavo.cli.command_table import COMMANDS
from octavo.cli.settings import COMPLETION_VARIABLE, Settings, UsageError
from octavo.errors import OctavoError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `octavo` with these arguments (default: the process's own) and return its exit code.

    0 means success, 1 that problems were found or the work failed, 2 that the command line was wrong (1 in `dump-log`,
    as in Kafka). An interrupt or a closed pipe ends the process by SIGINT or SIGPIPE, so that a shell sees why;
    an interrupt of `broker` stops it cleanly.
    """
    # Numpy's linear algebra, which is not needed here, starts one thread per processor: a quarter of numpy's import
    # time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        _open_closed_streams()
        for stream in (sys.stdout, sys.stderr):
            _speak_utf8(stream)
        warnings.showwarning = _say
        return _report(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        return _end_by(signal.SIGINT)
    except BrokenPipeError:
        return _end_by(signal.SIGPIPE)


def _report(arguments: list[str]) -> int:
    """Run a command, and report what failed."""
    settings = Settings()
    try:
        code = run(arguments, settings)
        _flush()
        return code
    except BrokenPipeError:
        raise
    except UsageError as error:
        return _fail(str(error), settings, code=2)
    except OctavoError as error:
        return _fail(_placed(error), settings)
    except OSError as error:
        from octavo.system.os_errors import described

        return _fail(described(error), settings)
    except MemoryError:
        return _fail("not enough memory to read this; --max-unpacked-bytes limits a batch's unpacked size", settings)
    except Exception as error:
        return _fail(f"unexpected {type(error).__name__}: {error} (--debug shows where)", settings)


def run(arguments: list[str], settings: Settings) -> int:
    """Run a command, verbatim or through click, or complete a command line for a shell; errors are raised."""
    if instruction := os.environ.get(COMPLETION_VARIABLE):
        from octavo.cli.group import complete

        return complete(instruction)
    while arguments[:1] == ["--debug"]:
        settings.debug = True
        del arguments[0]
    command = COMMANDS.get(arguments[0]) if arguments else None
    if command is not None and command.verbatim:
        warnings.simplefilter("ignore")  # a command that promises Kafka's stderr adds nothing to it
        verbatim = cast("Callable[[list[str]], int]", import_module(command.module).main)
        return verbatim(arguments[1:])
    # Click takes 30 ms to import, so a verbatim command does without it.
    from octavo.cli.group import run_group

    return run_group(arguments, settings)


def _open_closed_streams() -> None:
    """Open /dev/null in place of a standard stream that was closed from the start.

    Otherwise the first file to be opened would get its number, and messages for a closed stderr would go to stdout.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


def _speak_utf8(stream: object) -> None:
    """Write UTF-8 whatever the locale, and surrogate escapes as the bytes that they stand for."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def _say(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning on one line."""
    from octavo.cli.plain import plain
    from octavo.cli.progress import print_line

    print_line(plain(str(message)), sys.stderr)


def _flush() -> None:
    """Flush stdout; if that fails (a full disk), redirect stdout to /dev/null and raise the error."""
    try:
        sys.stdout.flush()
    except OSError:
        # The interpreter flushes once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _placed(error: OctavoError) -> str:
    """The error after the places where it happened, the outermost first; callers added them as notes, in reverse."""
    return ": ".join([*reversed(getattr(error, "__notes__", [])), str(error)])


def _fail(sentence: str, settings: Settings, code: int = 1) -> int:
    try:
        _flush()
    except BrokenPipeError:
        raise
    except OSError:
        pass  # report the first failure
    if settings.debug:
        import traceback

        traceback.print_exc()
    from octavo.cli.plain import plain

    print(f"octavo: {plain(sentence)}", file=sys.stderr)
    return code


def _end_by(number: signal.Signals) -> int:
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number
