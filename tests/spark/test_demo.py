"""`make demo`'s pipeline and the README's Spark example run as the pages show them."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.docs.pages import QUIET, ROOT, blocks

PIPELINE = ROOT / "examples" / "orders_pipeline.py"
# What is the same in every run; times, rates and the sizes of batches are not.
EXACT = ("90000 orders", "79509 committed orders", "200 products add up to what was committed, 3967457")


def shape(text: str) -> list[str]:
    """The lines with `#` for numbers, and one blank for several."""
    return [re.sub(r"\s+", " ", re.sub(r"\d[\d.,:TZ-]*", "#", line)).strip() for line in text.strip().splitlines()]


def test_the_pipeline_prints_what_the_page_shows(java: None, tmp_path: Path) -> None:  # T6
    done = subprocess.run(
        [sys.executable, PIPELINE], cwd=tmp_path, env=QUIET, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (shown,) = blocks(ROOT / "docs" / "demo.md", "text")
    for exact in EXACT:
        assert exact in shown
        assert exact in done.stdout
    expected, found = "\n".join(shape(shown)), "\n".join(shape(done.stdout))
    assert doctest.OutputChecker().check_output(expected, found, doctest.ELLIPSIS), done.stdout


def test_the_readmes_query_prints_what_it_shows(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.unpack_archive(ROOT / "tests" / "data" / "golden" / "v431-killed.tar.gz", tmp_path / "disk")
    (program,), (shown,) = blocks(ROOT / "README.md", "python"), blocks(ROOT / "README.md", "text")
    exec(program.replace('"disk"', repr(str(tmp_path / "disk"))), {"spark": spark})  # here, where the session is
    assert capsys.readouterr().out.strip() == shown.strip()
