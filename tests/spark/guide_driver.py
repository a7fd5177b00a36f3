"""Runs the jobs of docs/spark-guide.md as it shows them: `python -m … FOLDER`.

It is a separate program, since Spark calls back into it: py4j listens for such calls with select, which accepts no
descriptor above 1023, and a process that has run many tests has more of them.
"""

from __future__ import annotations

import doctest
import sys
from pathlib import Path

from tests.docs.pages import ROOT, blocks
from tests.spark.sessions import start_session

GUIDE = ROOT / "docs" / "spark-guide.md"
LEAST_EXAMPLES = 35


def main(folder: Path) -> int:
    session = start_session("local[2]", str(folder))
    # The JVM has its own working directory, so paths are made absolute.
    text = "\n".join(blocks(GUIDE, "pycon")).replace("build/guide", str(folder / "guide"))
    text = text.replace("tests/data", str(ROOT / "tests" / "data"))
    guide = doctest.DocTestParser().get_doctest(text, {}, GUIDE.name, str(GUIDE), 0)
    assert len(guide.examples) > LEAST_EXAMPLES
    failed = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(guide).failed
    session.stop()
    return failed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
