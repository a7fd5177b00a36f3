"""Runs of `octavo` inside the test's own process: a thousand of them take seconds."""

from __future__ import annotations

import contextlib
import io
import warnings
from pathlib import Path
from typing import NamedTuple

from octavo.cli import main


class Run(NamedTuple):
    exit: int
    stdout: str
    stderr: str


def octavo(*arguments: str, folder: Path | None = None) -> Run:
    """Run a command in a folder; neither that nor what the command does to warnings outlives it."""
    out, err = io.StringIO(), io.StringIO()
    with (
        warnings.catch_warnings(),
        contextlib.chdir(folder or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = main(list(arguments))
    return Run(code, out.getvalue(), err.getvalue())
