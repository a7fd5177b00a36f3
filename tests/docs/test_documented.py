"""What can be typed is documented: make targets, commands and their options; and links between pages lead somewhere."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from octavo.cli.command_table import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "benchmarks").glob("*.md"),
    *(ROOT / "tests").rglob("README.md"),
]
TARGETS = re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def section(command: str) -> str:
    """The part of the command-line page under a command's heading."""
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    return page.partition(f"\n## octavo {command}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("target", TARGETS)
def test_a_make_target_is_in_contributing(target: str) -> None:
    assert f"| `make {target}` |" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_and_its_options_are_on_the_page(command: str) -> None:
    text = section(command)
    assert text, f"docs/command-line.md has no section `## octavo {command}`"
    if not COMMANDS[command].verbatim:
        options = [name for option in import_module(COMMANDS[command].module).command.params for name in option.opts]
        missing = [name for name in options if name.startswith("--") and name != "--debug" and f"`{name}" not in text]
        assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert not broken


def test_every_page_is_in_the_list() -> None:
    """Decisions are listed on their own page instead."""
    listed = set(LINK.findall((ROOT / "docs" / "README.md").read_text(encoding="utf-8")))
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert {page for page in pages if page != "README.md" and not page.startswith("decisions/0")} <= listed


def test_every_decision_is_in_the_index() -> None:
    index = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs" / "decisions").glob("0*.md")}
    assert pages == set(re.findall(r"\]\((0[^)]*)\)", index))


def test_every_folder_of_tests_is_in_their_list() -> None:
    listed = re.findall(r"^\| \[([a-z]+)\]", (ROOT / "tests" / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == sorted(path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name[0] != "_")


def test_every_variable_that_asks_for_more_tests_is_in_their_list() -> None:
    modules = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")]
    read = {name for text in modules for name in re.findall(r'environ\.get\("(OCTAVO_[A-Z_]+)", "', text)}
    assert read and all(f"`{name}" in (ROOT / "tests" / "README.md").read_text(encoding="utf-8") for name in read)


def test_the_glossary_is_sorted_and_has_our_own_words() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([^|]+) \| ", page, re.MULTILINE)[1:]
    assert words == sorted(words, key=str.lower)
    own = {"finding", "golden directory", "kernel", "note", "owner", "problem", "staged file", "torn", "twin", "upkeep"}
    assert own <= set(words)


def test_a_release_is_tried_on_the_oldest_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=")
    assert f"\noldest={oldest}\n" in (ROOT / "scripts" / "wheels.sh").read_text(encoding="utf-8")
