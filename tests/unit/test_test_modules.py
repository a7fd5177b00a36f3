"""A rule of tests/README.md: what several test files need is in a helper module."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
OF_A_TEST_MODULE = re.compile(
    r"^\s*(?:from|import) tests\.(?:\w+\.)*test_\w+|^\s*from tests[\w.]* import test_", re.MULTILINE
)


def test_nothing_is_imported_from_a_test_module() -> None:
    sources = {str(path.relative_to(TESTS)): path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")}
    assert len(sources) > 500
    assert {name: found for name, source in sources.items() if (found := OF_A_TEST_MODULE.findall(source))} == {}
