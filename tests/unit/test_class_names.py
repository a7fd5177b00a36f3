"""Each public class name exists once, so that a name in a signature or a traceback needs no path."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import octavo


def test_class_names_are_unique() -> None:
    names: Counter[str] = Counter()
    for path in Path(octavo.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names.update(node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_")
    assert [name for name, count in names.items() if count > 1] == []
