"""Which kernels a process uses, the compiled ones or the plain-Python twins, and when it says so."""

from __future__ import annotations

import os
import subprocess
import sys

from octavo.kernels import TWIN_NOTICE

# As on a machine without a compiler: a compiled module cannot be imported.
WITHOUT_KERNELS = "import sys; sys.modules['octavo.kernels.compiled.decode'] = None\n"
USE = "from octavo.format.batches import batch, walker; from octavo.kernels import COMPILED; print(COMPILED)"


def run(code: str, **environment: str) -> tuple[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in ("OCTAVO_KERNELS", "PYTHONWARNINGS")}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**inherited, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip(), done.stderr


def test_without_compiled_kernels_the_twin_serves_and_says_so_once() -> None:
    compiled, said = run(WITHOUT_KERNELS + USE)
    assert compiled == "False"
    assert said.count(TWIN_NOTICE) == 1


def test_a_twin_that_was_asked_for_says_nothing() -> None:
    assert run(USE, OCTAVO_KERNELS="reference") == ("False", "")


def test_a_command_says_it_in_one_line() -> None:
    main = "from octavo.cli import main; sys.exit(main(['--version']))"
    version, said = run(WITHOUT_KERNELS + main)
    assert version.endswith("(plain-Python kernels)")
    assert said == f"{TWIN_NOTICE}\n"
