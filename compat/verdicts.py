"""Turns the output of test runners into lines of `results.tsv`: a verdict, a tab, the test's name.

python compat/verdicts.py junit FILE [PREFIX]     pytest's --junitxml
python compat/verdicts.py go FILE [PREFIX]        go test -v
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

_GO_LINE = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", re.MULTILINE)
_OF_GO = {"PASS": "pass", "FAIL": "fail", "SKIP": "skip"}


def of_junit(path: Path) -> Iterator[tuple[str, str]]:
    for case in ElementTree.parse(path).iter("testcase"):
        kinds = {child.tag for child in case}
        verdict = "fail" if kinds & {"failure", "error"} else "skip" if "skipped" in kinds else "pass"
        yield verdict, f"{case.get('classname')}.{case.get('name')}"


def of_go(path: Path) -> Iterator[tuple[str, str]]:
    text = path.read_text(errors="replace")
    for kind, name in _GO_LINE.findall(text):
        yield _OF_GO[kind], name


if __name__ == "__main__":
    kind, file, *prefix = sys.argv[1:]
    for verdict, name in (of_junit if kind == "junit" else of_go)(Path(file)):
        print(verdict, "".join(prefix) + name.encode("unicode_escape").decode(), sep="\t")
