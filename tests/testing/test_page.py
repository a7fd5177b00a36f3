"""Each test in docs/testing.md passes."""

from __future__ import annotations

import aiokafka  # noqa: F401 (pytester drops modules that a run in this process was the first to import)
import confluent_kafka  # noqa: F401
import pytest

import kafka  # noqa: F401
import octavo.testing.kafka  # noqa: F401
from tests.docs.pages import ROOT, blocks
from tests.testing.runs import run

pytest_plugins = "pytester"

EXAMPLES = [block for block in blocks(ROOT / "docs" / "testing.md", "python") if "def test_" in block]
BACKEND = """
@__import__("pytest").fixture
def anyio_backend():
    return "asyncio"
"""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.partition("def test_")[2].partition("(")[0])
def test_an_example_passes(example: str, pytester: pytest.Pytester) -> None:
    if "mark.anyio" in example:
        pytest.importorskip("anyio")
        example += BACKEND
    run(pytester, example).assert_outcomes(passed=1)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 5
