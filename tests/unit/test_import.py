"""`import octavo`: light, lazy, and refused where it cannot run."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import octavo
import octavo.spark
import octavo.testing
from octavo import errors
from tests.dependencies import HEAVY
from tests.docs.api_reference import annotated

SOURCE = Path(octavo.__file__).parent
# Classes in public signatures that are not public themselves.
INNER = {
    *("AbortedTxn", "Location", "RecordFilter", "SegmentRange"),  # parts of a task, which is passed on whole
    *("CleanableRange", "CleanedGroup", "HoldingTransaction", "SourceSegment", "UpgradePlan"),  # details of a result
    *("ColumnPool", "Environment"),  # optional arguments that only this package and its tests give
}


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_a_bare_import_loads_neither_dependencies_nor_modules_of_its_own() -> None:
    loaded = run("import sys, octavo; print(*sys.modules)").split()
    assert not HEAVY & {name.partition(".")[0] for name in loaded}
    assert [name for name in loaded if name.startswith("octavo")] == ["octavo"]


@pytest.mark.parametrize("name", octavo.__all__)
def test_each_public_name_is_there_and_listed(name: str) -> None:
    assert name in dir(octavo)
    assert getattr(octavo, name) is not None


def test_every_error_that_a_program_can_catch_is_public() -> None:
    raised = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.OctavoError) and value is not errors.CleaningAborted
    }
    assert raised <= set(octavo.__all__)
    assert all(getattr(octavo, name) is getattr(errors, name) for name in raised)


def test_every_class_in_a_public_signature_is_public() -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")
    modules = octavo, octavo.spark, octavo.testing
    sources = [path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")]
    classes = {name for source in sources for name in re.findall(r"^class (\w+)", source, re.MULTILINE)}
    classes -= {name for module in modules for name in module.__all__}
    shown = [found for module in modules for found in annotated(module)]
    inner = {name: where for where, kind in shown for name in re.findall(r"\w+", kind) if name in classes}
    assert inner.keys() - INNER == set(), inner
    assert inner.keys() >= INNER


@pytest.mark.parametrize("name", sorted({*octavo.__all__} - {"__version__"}))
def test_what_is_public_says_what_it_is(name: str) -> None:
    """`help()` shows a docstring for every public name, and for every public method and property of a public class."""
    public = getattr(octavo, name)
    assert inspect.getdoc(public)
    if not isinstance(public, type) or issubclass(public, errors.OctavoError | tuple):
        return
    for attribute, member in vars(public).items():
        if not attribute.startswith("_") and (callable(member) or isinstance(member, property | classmethod)):
            assert inspect.getdoc(getattr(public, attribute)), f"{name}.{attribute}"


def test_scan_is_a_function_with_a_signature() -> None:
    parameters = inspect.signature(octavo.scan).parameters
    assert list(parameters)[:3] == ["paths", "topics", "partitions"]
    assert "from_timestamp" in parameters


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'octavo' has no attribute 'no_such_name'"):
        _ = octavo.no_such_name


def test_windows_is_refused_with_one_sentence() -> None:
    said = run(
        "import sys; sys.platform = 'win32'\n"
        "try:\n    import octavo\nexcept ImportError as error:\n    print(error)"
    )  # fmt: skip
    assert said == "octavo runs on Linux and macOS; Windows is not supported"
