"""Runs of pytest with the plugin."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest

# The plugin is installed with the package; in a checkout that was set up before it existed, it has to be named.
LOADED = [] if entry_points(group="pytest11", name="octavo") else ["-p", "octavo.testing.plugin"]


def run(pytester: pytest.Pytester, text: str, *options: str, ini: str = "") -> pytest.RunResult:
    """Run a test file in this process, which is faster than in another one."""
    pytester.makepyfile(text)
    pytester.makeini(f"[pytest]\naddopts = --strict-markers\n{ini}")
    return pytester.runpytest_inprocess(*LOADED, "-p", "no:cacheprovider", *options)
