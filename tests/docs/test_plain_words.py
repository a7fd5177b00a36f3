"""Phrases that nobody would say, such as CONTRIBUTING.md names, do not come back in pages, messages and comments."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT

THINGS = "line|row|file|module|object|section|test|table|task|page|entry|slot|byte|batch|record|column|command|call"
HABITS = {
    rf"\ban? (?:{THINGS}) an? [a-z]+": "one line per batch",
    r"\banew\b": "again",
    r"\bpass(?:ed|es) over\b": "skipped",
    r"\b(?:is|are) none of\b": "unknown, not one of",
    r"\bis [`'\"\w.]+ meant\?": "did you mean …?",
    r"\bis no (?:topic |producer |consumer |broker )?config\b": "unknown config",
    r"\bparted by\b": "separated by",
    r"\bfor want of\b": "without",
    r"(?:^|[.:|] )Of (?:an?|the|each|every|two|several|many) \w+": "the Y of X, not: of X the Y",
}
FILES = [*PAGES, *sorted((ROOT / "src").rglob("*.py")), *sorted((ROOT / "src").rglob("*.pyx"))]


@pytest.mark.parametrize("habit", HABITS)
def test_a_habit_stays_away(habit: str) -> None:
    pattern = re.compile(habit, re.MULTILINE)
    found = [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0].strip()}"
        for path, text in _texts()
        for match in pattern.finditer(text)
    ]
    assert not found, f"say {HABITS[habit]!r}"


def _texts() -> list[tuple[Path, str]]:
    return [(path, path.read_text(encoding="utf-8")) for path in FILES]
