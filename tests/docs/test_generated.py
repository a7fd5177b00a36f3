"""The generated parts of the pages are what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from octavo.cli.command_table import COMMANDS
from octavo.config import BROKER_CONFIGS, SYNONYMS, TOPIC_CONFIGS
from tests.docs.generated import DOCS, PAGES, PART, parts, table, written


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_a_page_is_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == written(text), "run `make docs`"


def test_every_part_stands_on_one_page() -> None:
    found = [part["name"] for page in PAGES for part in PART.finditer(page.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(parts())


def test_every_config_is_on_the_page() -> None:
    page = (DOCS / "configuration.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z0-9.]+)` \|", page, re.MULTILINE) == [*TOPIC_CONFIGS, *BROKER_CONFIGS]
    assert [name for name in SYNONYMS if f"`{name}`" not in page] == []


def test_every_command_is_on_the_page() -> None:
    page = (DOCS / "command-reference.md").read_text(encoding="utf-8")
    assert re.findall(r"^## octavo (\S+)$", page, re.MULTILINE) == list(COMMANDS)
    assert "| `--describe KEY` |" in page
    assert "| `--files PATH` |" in page


def test_a_drifted_part_is_written_again_and_the_rest_is_kept() -> None:
    page = "above\n<!-- generated: overview -->\nold\n<!-- end -->\nbelow\n"
    assert written(page) == f"above\n<!-- generated: overview -->\n\n{parts()['overview']}\n<!-- end -->\nbelow\n"


def test_a_table_is_written_as_markdown() -> None:
    assert table(["a", "b"], ["x|y", ""]) == "| a | b |\n|---|---|\n| x\\|y | |\n"
