"""Shell completion: the answers for bash, zsh and fish, and how little they cost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from octavo.cli.command_table import COMMANDS
from octavo.cli.dump_log.options import FLAGS
from octavo.config import SYNONYMS
from tests.dependencies import HEAVY


def ask(instruction: str, line: str = "", code: str | None = None) -> subprocess.CompletedProcess[str]:
    """Ask as a shell does when Tab is pressed at the end of the line."""
    words = line.split(" ")
    # fish passes the word being completed, the others its number.
    current = words[-1] if instruction.startswith("fish") else str(len(words) - 1)
    return subprocess.run(
        [sys.executable, *(["-c", code] if code else ["-m", "octavo"])],
        env={**os.environ, "_OCTAVO_COMPLETE": instruction, "COMP_WORDS": line, "COMP_CWORD": current},
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip


def completions(line: str) -> list[str]:
    done = ask("bash_complete", line)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_commands() -> None:
    assert completions("octavo ") == [f"plain,{name}" for name in COMMANDS]
    assert completions("octavo conf") == ["plain,config"]
    assert completions("octavo --debug conf") == ["plain,config"]


def test_options() -> None:
    assert "plain,--version" in completions("octavo --")
    assert completions("octavo config --d") == ["plain,--describe", "plain,--debug"]


def test_names_of_configs() -> None:
    expected = [f"plain,{name}" for name in sorted(SYNONYMS) if name.startswith("log.roll.")]
    assert completions("octavo config --describe log.roll.") == expected


def test_names_of_configs_after_the_options_that_take_them() -> None:
    assert "plain,segment.bytes=" in completions("octavo create logs --config seg")
    assert completions("octavo alter logs --topic t --delete-config retention.m") == ["plain,retention.ms"]
    assert completions("octavo compact logs --config min.cleanable") == ["plain,min.cleanable.dirty.ratio="]
    assert completions("octavo produce logs --producer-property linger") == ["plain,linger.ms="]
    assert completions("octavo consume logs --consumer-property auto.offset") == ["plain,auto.offset.reset="]
    assert "plain,log.retention.ms=" in completions("octavo broker logs --config log.retention.m")


def test_topics_of_the_directories_on_the_line(tmp_path: Path) -> None:
    for name in ("orders-0", "orders-1", "old.orders-0", "payments-0", "meta.properties"):
        (tmp_path / name).mkdir()
    assert completions(f"octavo cat {tmp_path} --topic o") == ["plain,old.orders", "plain,orders"]
    assert completions(f"octavo describe {tmp_path} --json --topic p") == ["plain,payments"]
    assert completions(f"octavo lookup {tmp_path} --topic p") == ["plain,payments"]
    assert completions(f"octavo cat {tmp_path}/no-such --topic o") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_printed_by_a_command(shell: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "octavo", "completion", shell], capture_output=True, text=True, check=True
    )
    assert done.stdout == ask(f"{shell}_source").stdout


def test_flags_and_files_of_a_verbatim_command() -> None:
    assert completions("octavo dump-log --") == [f"plain,--{name}" for name in FLAGS]
    assert completions("octavo dump-log --files 0000") == ["file,0000"]


def test_zsh_and_fish_show_what_a_command_does() -> None:
    summary = COMMANDS["config"].summary
    assert ask("zsh_complete", "octavo conf").stdout.splitlines() == ["plain", "config", summary]
    fish = ask("fish_complete", "octavo conf").stdout
    assert "config" in fish
    assert summary in fish


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str) -> None:
    done = ask(f"{shell}_source")
    assert done.returncode == 0
    assert f"_OCTAVO_COMPLETE={shell}_complete" in done.stdout


def test_an_unknown_shell_gets_nothing() -> None:
    done = ask("tcsh_source")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this system")
def test_bash_completes_with_the_script() -> None:
    line = (
        f"octavo() {{ '{sys.executable}' -m octavo \"$@\"; }}; export -f octavo\n"
        'eval "$(_OCTAVO_COMPLETE=bash_source octavo)"\n'
        "COMP_WORDS=(octavo config --desc) COMP_CWORD=2\n"
        # The script calls the command through env, which does not know functions.
        "env() { local -x COMP_WORDS=${1#*=} COMP_CWORD=${2#*=} _OCTAVO_COMPLETE=${3#*=}; $4; }\n"
        '_octavo_completion octavo; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", line], capture_output=True, encoding="utf-8", check=False)
    assert (done.stdout, done.stderr) == ("--describe\n", "")


def test_completing_a_command_imports_none() -> None:
    code = (
        "import sys; from octavo.cli import main; main()\n"
        f"heavy = {HEAVY - {'click'}} & set(sys.modules)\n"
        "print(sorted(heavy), sorted(name for name in sys.modules if name.startswith('octavo.')), file=sys.stderr)"
    )
    assert ask("bash_complete", "octavo ", code).stderr.strip() == (
        "[] ['octavo.cli', 'octavo.cli.app', 'octavo.cli.command_table', 'octavo.cli.group', 'octavo.cli.options', "
        "'octavo.cli.plain', 'octavo.cli.progress', 'octavo.cli.settings', 'octavo.cli.units', 'octavo.errors']"
    )
