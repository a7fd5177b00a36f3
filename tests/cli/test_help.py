"""`--help`, `octavo help`, examples, and hints for mistyped commands and those of other tools."""

from __future__ import annotations

import shlex
from importlib import import_module
from pathlib import Path

import click
import pytest

from octavo.cli.command_table import COMMANDS
from octavo.cli.examples import EXAMPLES, HINTS
from octavo.cli.units import with_units
from octavo.format.compression.dispatch import DEFAULT_LIMIT
from tests.cli.runs import octavo

TYPED = [(name, line) for name, lines in EXAMPLES.items() for line in lines]


@pytest.mark.parametrize("name", [name for name, row in COMMANDS.items() if not row.verbatim])
def test_a_command_ends_its_help_with_examples(name: str) -> None:
    assert len(EXAMPLES[name]) >= 2
    run = octavo(name, "--help")
    assert run.exit == 0
    assert run.stdout.endswith("".join(f"    {line}\n" for line in EXAMPLES[name]))
    assert octavo("help", name) == run


@pytest.mark.parametrize(("name", "line"), TYPED, ids=[line for _, line in TYPED])
def test_an_example_can_be_typed(name: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("records.jsonl").touch()
    words = shlex.split(line.removeprefix('eval "$(').removesuffix(')"'))
    program, command, *arguments = words[: next((at for at, word in enumerate(words) if word in "<>|"), len(words))]
    assert (program, command) == ("octavo", name)
    parsed: click.Command = import_module(COMMANDS[name].module).command
    with parsed.make_context(name, arguments):
        pass


def test_help_without_a_command_and_of_a_verbatim_one() -> None:
    assert octavo("help") == octavo("--help")
    assert octavo("help", "dump-log") == octavo("dump-log", "--help")
    run = octavo("help", "cta")
    assert (run.exit, run.stderr) == (2, "octavo: No such command 'cta' (did you mean cat?); see `octavo --help`\n")
    assert "try `octavo topics`" in octavo("help", "ls").stderr


def test_the_limit_of_unpacking_is_shown_with_its_unit() -> None:
    shown = with_units(f"{DEFAULT_LIMIT} bytes").replace(" bytes", "")
    assert f"default {shown};" in " ".join(octavo("topics", "--help").stdout.split())


@pytest.mark.parametrize(("typed", "meant"), HINTS.items())
def test_a_command_of_another_tool_gets_a_hint(typed: str, meant: str) -> None:
    assert typed not in COMMANDS
    assert meant.split()[0] in COMMANDS
    run = octavo(typed, "logs")
    assert (run.exit, run.stderr) == (
        2,
        f"octavo: No such command '{typed}'; try `octavo {meant}`; see `octavo --help`\n",
    )


def test_a_near_miss() -> None:
    assert "did you mean topics?" in octavo("topisc").stderr
