"""Runs `octavo` inside the test's own process, so that a thousand runs take seconds."""

from __future__ import annotations

import contextlib
import io
import json
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from octavo.cli import main


class Run(NamedTuple):
    exit: int
    stdout: str
    stderr: str


def octavo(*arguments: str, folder: Path | None = None) -> Run:
    """Run a command in a folder; afterwards the working directory and the warning filters are as they were."""
    out, err = _stream(), _stream()
    with (
        warnings.catch_warnings(),
        contextlib.chdir(folder or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = main(list(arguments))
    return Run(code, _text(out), _text(err))


def printed(*line: str) -> Run:
    """Run a command; `cat` prints into a file, because it bypasses Python's stdout."""
    with TemporaryDirectory() as folder:
        output = Path(folder, "records")
        run = octavo(*line, *(("--output", str(output)) if line[0] == "cat" else ()))
        said = "".join(line for line in run.stderr.splitlines(True) if not line.startswith(f"{output}: 1 file"))
        return run._replace(stdout=output.read_text() if output.exists() else run.stdout, stderr=said)


def json_lines(stdout: str) -> list[dict[str, Any]]:
    """The objects of `--json` output; unlike `splitlines`, it leaves U+2028 inside a line alone."""
    return [json.loads(line) for line in stdout.split("\n")[:-1]]


def _stream() -> io.TextIOWrapper:
    """A stream with a layer of bytes under its text, as the real ones have."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()
