"""Keeps docs/compatibility.md true: its column of tests is collected from the comments that name a fact (`# F7`).

`python -m tests.docs.facts` (`make docs`) updates the page; a test fails if the page is out of date.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "compatibility.md"
UNPROVED = "–"
FACT = re.compile(r"\b[FLICDT](?:[1-9]|1[0-9])\b")
ROW = re.compile(r"^\| (?P<id>[FLICDT]\d+) \| (?P<fact>.*) \| (?P<tests>[^|]*) \|$")

Tests = dict[str, list[str]]


def comments(source: str) -> dict[int, str]:
    """Comments by line number."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}


def test_functions(tree: ast.Module) -> Iterator[tuple[str, int, int]]:
    """Name, first line (including decorators) and last line of each test."""
    for node in tree.body:
        owner = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        for function in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
                first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
                yield owner + function.name, first, function.end_lineno or function.lineno


def facts_of(source: str) -> dict[str, set[str]]:
    """The tests of a module that carry facts: in a comment inside the test, or in the comments right above it."""
    lines, said = source.splitlines(), comments(source)
    found: dict[str, set[str]] = {}
    for name, first, last in test_functions(ast.parse(source)):
        while first > 1 and lines[first - 2].lstrip().startswith("#"):
            first -= 1
        ids = {fact for line in range(first, last + 1) for fact in FACT.findall(said.get(line, ""))}
        if ids:
            found[name] = ids
    return found


@cache
def collect(folder: Path = ROOT / "tests") -> Tests:
    """The tests for each fact id, ordered by file name, then as they are in the file."""
    proved: Tests = {}
    for path in sorted(folder.rglob("test_*.py")):
        for name, ids in facts_of(path.read_text(encoding="utf-8")).items():
            for fact in ids:
                proved.setdefault(fact, []).append(f"{path.relative_to(folder.parent)}::{name}")
    return proved


def written(page: str, proved: Tests) -> str:
    """The page with its column of tests updated."""

    def fill(line: str) -> str:
        row = ROW.match(line)
        if row is None:
            return line
        tests = "<br>".join(f"`{test}`" for test in proved.get(row["id"], [])) or UNPROVED
        return f"| {row['id']} | {row['fact']} | {tests} |"

    return "".join(fill(line) + "\n" for line in page.splitlines())


def listed(page: str) -> list[str]:
    """The ids that have a row on the page."""
    return [row["id"] for line in page.splitlines() if (row := ROW.match(line))]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), collect()), encoding="utf-8")
