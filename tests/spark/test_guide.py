"""The guide's jobs run as it shows them."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import TYPE_CHECKING

from tests.docs.test_snippets import ROOT, blocks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GUIDE = ROOT / "docs" / "spark-guide.md"


def test_the_guide_runs(spark: SparkSession, tmp_path: Path) -> None:
    # The JVM has a working directory of its own: paths are made absolute.
    text = "\n".join(blocks(GUIDE, "pycon")).replace("build/guide", str(tmp_path / "guide"))
    text = text.replace("tests/data", str(ROOT / "tests" / "data"))
    session = doctest.DocTestParser().get_doctest(text, {}, GUIDE.name, str(GUIDE), 0)
    assert len(session.examples) > 25
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.DocTestRunner(optionflags=flags).run(session).failed == 0
