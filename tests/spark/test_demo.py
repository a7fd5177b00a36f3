"""`make demo`'s pipeline runs as the README shows it."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import QUIET, ROOT, blocks

PIPELINE = ROOT / "examples" / "orders_pipeline.py"


def test_the_pipeline_prints_what_the_readme_shows(java: None, tmp_path: Path) -> None:  # T6
    done = subprocess.run(
        [sys.executable, PIPELINE], cwd=tmp_path, env=QUIET, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (shown,) = blocks(ROOT / "README.md", "text")
    assert doctest.OutputChecker().check_output(shown, done.stdout, doctest.ELLIPSIS), done.stdout
