"""The page on the architecture names files and functions that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

SOURCE = ROOT / "src/octavo"
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
RULES = re.findall(r"^\| ([^|]+\?) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
WAYS = re.findall(r"^```\n(.*?)^```$", PAGE.partition("## The ways through it")[2], re.MULTILINE | re.DOTALL)
STEPS = [line for way in WAYS for line in way.splitlines()]


@pytest.mark.parametrize(("question", "files", "functions"), RULES, ids=[rule[0] for rule in RULES])
def test_a_rule_is_where_the_page_says(question: str, files: str, functions: str) -> None:
    texts = [_text(SOURCE / f"{name}.py") for name in re.findall(r"`([\w/]+)`", files)]
    for name in re.findall(r"`(\w+)`", functions):
        assert any(re.search(rf"^ *def {name}\b", text, re.MULTILINE) for text in texts), f"{question} {name}"


@pytest.mark.parametrize("step", STEPS)
def test_a_step_is_where_the_page_says(step: str) -> None:
    *_, files = step.split("  ")
    texts = []
    for name in re.split(r" │ |, ", files.strip().replace("<room>/<api>", "data/fetch")):
        found = [path for path in SOURCE.rglob("*.py") if f"/{path.relative_to(ROOT)}".endswith(f"/{name}.py")]
        assert found, f"{name} in {files}"
        texts += [_text(path) for path in found]
    for name in re.findall(r"\b[a-z]+_\w+|\b[A-Z]\w+(?=\.)", step[:41]):
        assert any(name in text for text in texts), f"{name} is not in {files}"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
