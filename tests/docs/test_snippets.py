"""The pages show what happens: console and Python blocks run, and print what the page says."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, QUIET, ROOT, blocks
from tests.golden.archives import GOLDEN

# Examples that need Spark run in tests/spark.
ON_SPARK = ("spark-guide.md", "orders_pipeline.py")
EXAMPLES = [example for example in sorted((ROOT / "examples").glob("*.py")) if example.name not in ON_SPARK]
# What the pages need of a target, since a test does not call make again: of `make demo`, the half without Spark.
MAKE = {"make demo": f"python {ROOT / 'examples' / 'seed_experiment.py'}"}


def with_blocks(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


def command_of(shown: str) -> tuple[str, str]:
    """What is typed after a prompt, with its continuation lines (`> `), and the output that follows."""
    typed, *rest = shown.splitlines(keepends=True)
    while rest and rest[0].startswith("> "):
        typed += rest.pop(0).removeprefix("> ")
    return typed.rstrip("\n"), "".join(rest)


def run(line: str, folder: Path) -> str:
    """What a shell prints, stdout and stderr together, in the folder and with this environment's commands."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", MAKE.get(line, line).replace(".venv/bin/", "")], cwd=folder, check=False,
        env={**QUIET, "PATH": path, "GOLDEN": str(GOLDEN)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
    )  # fmt: skip
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the parts of a clone that the examples read, where they can also write."""
    for name in ("examples", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.mark.parametrize("page", with_blocks("console"), ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_print_what_the_page_shows(page: Path, checkout: Path) -> None:
    for block in blocks(page, "console"):
        for shown in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            typed, expected = command_of(shown)
            found = run(typed, checkout)
            assert doctest.OutputChecker().check_output(expected, found, doctest.ELLIPSIS), f"{typed}\n{found}"


class PageChecker(doctest.OutputChecker):
    """Ignores blank lines at the end of an output, which a page could show only as <BLANKLINE>."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, re.sub(r"\n+\Z", "\n", got), optionflags)


PYTHON_PAGES = [page for page in with_blocks("pycon") if page.name not in ON_SPARK]


@pytest.mark.parametrize("page", PYTHON_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_prints_what_the_page_shows(page: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout)
    session = doctest.DocTestParser().get_doctest("\n".join(blocks(page, "pycon")), {}, page.name, str(page), 0)
    assert session.examples
    assert doctest.DocTestRunner(PageChecker(), optionflags=doctest.ELLIPSIS).run(session).failed == 0


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_runs(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, example], cwd=tmp_path, env=QUIET, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
