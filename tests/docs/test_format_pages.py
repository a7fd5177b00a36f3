"""The pages about formats: their examples run, and their layout tables are those that the code reads and writes by."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from octavo.format.entry_layout import EntryLayout
from octavo.format.indexes import offset_index, time_index, txn_index
from octavo.format.small_files import producer_snapshot

FOLDER = Path(__file__).parents[2] / "docs" / "formats"
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [page for page in sorted(FOLDER.glob("*.md")) if EXAMPLE.search(page.read_text(encoding="utf-8"))]
FIELD = re.compile(r"^\| (\d+) \| (\w+) \| (\w+) \|", re.MULTILINE)
SIZES = {"int8": 1, "int16": 2, "int32": 4, "uint32": 4, "int64": 8}

LAYOUTS = {
    "offset-index": offset_index.ENTRY,
    "time-index": time_index.ENTRY,
    "transaction-index": txn_index.ENTRY,
    "producer-snapshot": producer_snapshot.ENTRY,
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.stem))
def test_examples_run(page: Path) -> None:
    text = "\n".join(EXAMPLE.findall(page.read_text(encoding="utf-8")))
    examples = doctest.DocTestParser().get_doctest(text, {}, page.stem, str(page), 0)
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0


@pytest.mark.parametrize(("page", "layout"), LAYOUTS.items(), ids=LAYOUTS)
def test_a_layout_table_is_the_declared_layout(page: str, layout: EntryLayout) -> None:
    fields = FIELD.findall((FOLDER / f"{page}.md").read_text(encoding="utf-8"))
    entry = fields[-len(layout.fields) :]
    assert [(name, kind) for _, kind, name in entry] == list(layout.fields.items())
    sizes = [SIZES[kind] for kind in layout.fields.values()]
    assert [int(position) for position, _, _ in entry] == [sum(sizes[:slot]) for slot in range(len(sizes))]


def test_the_header_of_a_producer_snapshot_is_the_declared_one() -> None:
    fields = FIELD.findall((FOLDER / "producer-snapshot.md").read_text(encoding="utf-8"))[:3]
    assert sum(SIZES[kind] for _, kind, _ in fields) == producer_snapshot.HEADER.size
    assert [int(position) for position, _, _ in fields] == [
        0,
        producer_snapshot.CRC_POSITION,
        producer_snapshot.COUNT_POSITION,
    ]
