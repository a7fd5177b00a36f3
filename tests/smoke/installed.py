"""The installed package under test: this environment's, or that of the Python that OCTAVO_SMOKE_PYTHON names.

Everything runs in processes of that Python, so that nothing needs to be installed there for the tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FOREIGN = os.environ.get("OCTAVO_SMOKE_PYTHON", "")
PYTHON = Path(FOREIGN or sys.executable)
COMMAND = PYTHON.with_name("octavo")
KERNELS = os.environ.get("OCTAVO_SMOKE_KERNELS", "")  # "compiled" or "plain-Python": what must be installed there

_HIDDEN = {"PYTHONPATH", "OCTAVO_KERNELS"} if FOREIGN else set()
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in _HIDDEN}
ENVIRONMENT["PYSPARK_PYTHON"] = str(PYTHON)


def run(*line: object, folder: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    words = list(map(str, line))
    return subprocess.run(
        words, cwd=folder, env=ENVIRONMENT, input=given, capture_output=True, text=True, check=False, timeout=300
    )


def octavo(*arguments: object, folder: Path, given: str = "") -> str:
    """The command's stdout; the command must succeed."""
    done = run(COMMAND, *arguments, folder=folder, given=given)
    assert done.returncode == 0, f"{done.args}\n{done.stdout}{done.stderr}"
    return done.stdout


def python(program: str, folder: Path) -> str:
    """The program's stdout; the program must succeed."""
    done = run(PYTHON, "-c", program, folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def has(package: str) -> bool:
    """Whether a package is installed there."""
    finds = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    return run(PYTHON, "-c", finds, folder=Path.cwd()).returncode == 0
