"""Each public type name exists once, so that a name in a signature or a traceback needs no path."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import octavo


def test_type_names_are_unique() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in Path(octavo.__file__).parent.rglob("*.py")]
    names = Counter(name for tree in trees for name in type_names(tree))
    assert {"TopicPartition", "Partition", "ConfigValue"} <= names.keys()  # a class, and aliases
    assert [name for name, count in names.items() if count > 1] == []


def type_names(module: ast.Module) -> Iterator[str]:
    """The public classes, aliases and type variables of a module: names such as `TopicPartition`."""
    for node in module.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [node.name] if isinstance(node, ast.ClassDef) else [x.id for x in targets if isinstance(x, ast.Name)]
        yield from (name for name in names if name[0].isupper() and not name.isupper())
