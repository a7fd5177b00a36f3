"""The diagrams show what the code does now, and each is on a page."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.docs.diagrams.drawings import DRAWINGS, FOLDER
from tests.docs.pages import PAGES


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_diagram_is_up_to_date(name: str) -> None:
    drawn = DRAWINGS[name]().svg()
    ElementTree.fromstring(drawn)
    assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == drawn, "run `make docs`"


def test_every_diagram_is_drawn_and_shown() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(DRAWINGS)
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in DRAWINGS if f"diagrams/{name}.svg)" not in pages] == []
