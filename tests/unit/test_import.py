"""`import octavo`: light, lazy, and refused where it cannot run."""

from __future__ import annotations

import subprocess
import sys

import pytest

import octavo
from octavo import errors
from tests.dependencies import HEAVY


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


def test_public_errors_are_those_of_the_errors_module() -> None:
    assert octavo.CorruptionError is errors.CorruptionError


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'octavo' has no attribute 'no_such_name'"):
        _ = octavo.no_such_name


def test_windows_is_refused_with_one_sentence() -> None:
    said = run(
        "import sys; sys.platform = 'win32'\n"
        "try:\n    import octavo\nexcept ImportError as error:\n    print(error)"
    )  # fmt: skip
    assert said == "octavo runs on Linux and macOS; Windows is not supported"
