"""The two implementations of each kernel, side by side."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

import pytest

MODULES: tuple[str, ...] = ("walk", "decode", "encode", "legacy", "hash", "replay", "stamp", "index", "text")
MODULES += ("accumulate", "offset_map", "filter", "runs", "seek", "summary", "messages", "survey")
PACKAGES = {"compiled": "octavo.kernels.compiled", "reference": "octavo.kernels.reference"}


def is_there(name: str) -> bool:
    return all(find_spec(f"{PACKAGES[name]}.{module}") for module in MODULES)


@cache
def load(name: str) -> SimpleNamespace:
    """All functions of one implementation; if it is not built, the test is skipped."""
    if not is_there(name):
        pytest.skip("the compiled kernels are not built here (no C compiler)")
    functions: dict[str, object] = {}
    for module in MODULES:
        functions |= _functions(import_module(f"{PACKAGES[name]}.{module}"))
    return SimpleNamespace(name=name, **functions)


def both() -> tuple[SimpleNamespace, SimpleNamespace]:
    """The compiled kernels and the twins."""
    return load("compiled"), load("reference")


def _functions(module: ModuleType) -> dict[str, object]:
    return {name: value for name, value in vars(module).items() if callable(value) and not name.startswith("_")}
