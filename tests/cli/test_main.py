"""`octavo` itself: exit codes, one sentence per failure, quiet endings, a light start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import octavo
from octavo.cli.command_table import COMMANDS
from tests.cli.runs import octavo as in_process
from tests.dependencies import HEAVY
from tests.scanner.segments import write_segment
from tests.storage.batches import batch

Run = subprocess.CompletedProcess[str]

# A command of each kind, as a separate module that a run of `octavo` imports.
CLICK_COMMAND = """
    import os, signal, sys, warnings
    import click
    from octavo.cli.options import command, json_option, print_json
    from octavo.errors import CorruptionError

    @command("try")
    @click.argument("end")
    @json_option
    def command(end, as_json):
        '''Try one way to end.'''
        if end == "json":
            print_json({"json": as_json, "text": "é"})
        elif end == "problems":
            return 1
        elif end == "corrupt":
            print("before")
            raise CorruptionError("found 3, expected 2", position=61, path="0.log")
        elif end == "missing":
            open("no-such-file")
        elif end == "bug":
            [][0]
        elif end == "click":
            raise click.ClickException("click says no")
        elif end == "warn":
            warnings.warn("octavo: mind this")
        elif end == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
            signal.pause()
        elif end == "prompt":
            click.termui.visible_prompt_func = lambda _: os.kill(os.getpid(), signal.SIGINT) or signal.pause()
            click.prompt("", prompt_suffix="")
        elif end == "flood":
            for _ in range(100000):
                print("line")
"""
VERBATIM_COMMAND = """
    import sys
    import warnings

    def main(arguments):
        warnings.warn("Kafka would not say this")
        print(arguments, "click" in sys.modules)
        return 7
"""
DRIVER = """
    import sys
    from octavo.cli import main
    from octavo.cli.command_table import COMMANDS, Command

    COMMANDS["try"] = Command("click_command", "Try one way to end.")
    COMMANDS["raw"] = Command("verbatim_command", "Print the arguments.", verbatim=True)
    sys.exit(main())
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    (folder / "click_command.py").write_text(textwrap.dedent(CLICK_COMMAND))
    (folder / "verbatim_command.py").write_text(textwrap.dedent(VERBATIM_COMMAND))
    (folder / "driver.py").write_text(textwrap.dedent(DRIVER))
    return folder / "driver.py"


def run(*line: str | Path, **environment: str) -> Run:
    return subprocess.run(
        [sys.executable, *line], capture_output=True, encoding="utf-8", check=False, env={**os.environ, **environment}
    )


def run_octavo(*arguments: str) -> Run:
    return run("-m", "octavo", *arguments)


def test_version_names_the_kernels() -> None:
    done = run_octavo("--version")
    assert done.returncode == 0
    version, form = done.stdout.strip().split(" (")
    assert version == f"octavo {octavo.__version__}"
    assert form in {"compiled kernels)", "plain-Python kernels)"}


def test_help_lists_every_command_and_imports_none() -> None:
    code = (
        "import sys; from octavo.cli import main; code = main(['--help'])\n"
        f"heavy = {HEAVY - {'click'}} & set(sys.modules)\n"
        "commands = [name for name in sys.modules if name.startswith('octavo.cli.')]\n"
        "print(sorted(heavy), sorted(commands), file=sys.stderr); sys.exit(code)"
    )
    done = run("-c", code)
    assert done.returncode == 0
    for name, command in COMMANDS.items():
        assert name in done.stdout
        assert command.summary.split()[0] in done.stdout
    names = [
        f"octavo.cli.{name}"
        for name in ("app", "command_table", "group", "options", "plain", "progress", "settings", "units")
    ]
    assert done.stderr.strip() == f"[] {names}"


@pytest.mark.parametrize("arguments", [("no-such-command",), ("--no-such-option",)])
def test_wrong_usage_is_one_sentence_and_the_exit_code_is_2(arguments: tuple[str, ...]) -> None:
    done = run_octavo(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("octavo: No such ")
    assert done.stderr.endswith("; see `octavo --help`\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("topcs",), "No such command 'topcs' (did you mean topics?); see `octavo --help`"),
        (("topics", "--tpic", "a"), "No such option '--tpic' (did you mean --topic?); see `octavo topics --help`"),
        (("cat", "-t", "a"), "No such option '-t' (did you mean --topic?); see `octavo cat --help`"),
        (("produce", "-o", "1"), "No such option '-o'; see `octavo produce --help`"),
        (
            ("cat", ".", "--partition", "0,1"),
            "Invalid value for '--partition': '0,1' is not a whole number; see `octavo cat --help`",
        ),
        (
            ("completion",),
            "Missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish; see `octavo completion --help`",
        ),
    ],
)
def test_a_wrong_word_is_answered_with_what_was_expected(arguments: tuple[str, ...], sentence: str) -> None:
    done = run_octavo(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"octavo: {sentence}\n")


def test_no_arguments_show_the_help_on_stderr() -> None:
    done = run_octavo()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: octavo")


def test_a_missing_argument_points_to_the_command(driver: Path) -> None:
    done = run(driver, "try")
    assert done.returncode == 2
    assert done.stderr == "octavo: Missing argument 'END'; see `octavo try --help`\n"


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"config", "dump-log", "help"}))
def test_every_command_says_what_is_missing(name: str) -> None:
    run = in_process(name)
    assert (run.exit, run.stdout) == (2, "")
    assert run.stderr.startswith("octavo: Missing argument '")
    assert run.stderr.endswith(f"; see `octavo {name} --help`\n")


@pytest.mark.parametrize("name", ["topics", "verify"])
def test_a_folder_without_partitions_is_reported(name: str, tmp_path: Path) -> None:
    (tmp_path / "disk1").mkdir()
    run = in_process(name, str(tmp_path))
    told = "no partitions here; a log directory has folders such as orders-0, for partition 0 of topic orders"
    assert run.stderr == f"octavo: {tmp_path}: {told}\n"


@pytest.mark.parametrize("name", ["topics", "verify", "reindex"])
def test_what_may_not_be_read_is_not_wrong_usage(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    write_segment(tmp_path / "t-0", 0, batch(0))
    run = in_process(name, str(tmp_path))
    assert run.exit == (1 if name == "reindex" else 0)  # whoever owns a directory must be able to write to it
    assert "--help" not in run.stderr


def test_the_exit_code_is_what_the_command_returns(driver: Path) -> None:
    assert run(driver, "try", "nothing").returncode == 0
    assert run(driver, "try", "problems").returncode == 1


def test_json_is_a_line_of_utf8_in_any_locale(driver: Path) -> None:
    done = run(driver, "try", "json", "--json", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (done.returncode, done.stdout) == (0, '{"json":true,"text":"é"}\n')


@pytest.mark.parametrize(
    ("end", "sentence"),
    [
        ("corrupt", "octavo: 0.log, position 61: found 3, expected 2\n"),
        ("missing", "octavo: no-such-file: No such file or directory\n"),
        ("bug", "octavo: unexpected IndexError: list index out of range (--debug shows where)\n"),
        ("click", "octavo: click says no\n"),
    ],
)
def test_a_failure_is_one_sentence_and_the_exit_code_is_1(driver: Path, end: str, sentence: str) -> None:
    done = run(driver, "try", end)
    assert (done.returncode, done.stderr) == (1, sentence)
    assert done.stdout == ("before\n" if end == "corrupt" else "")


def test_a_warning_is_one_sentence(driver: Path) -> None:
    done = run(driver, "try", "warn")
    assert (done.returncode, done.stderr) == (0, "octavo: mind this\n")


@pytest.mark.parametrize("line", [("--debug", "try", "bug"), ("try", "bug", "--debug"), ("try", "--debug", "bug")])
def test_debug_shows_the_traceback_wherever_it_stands(driver: Path, line: tuple[str, ...]) -> None:
    done = run(driver, *line)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "click_command.py" in done.stderr


@pytest.mark.parametrize("before", [(), ("--debug",)])
def test_a_verbatim_command_gets_its_arguments_as_typed(driver: Path, before: tuple[str, ...]) -> None:
    done = run(driver, *before, "raw", "--files", "a,b", "--help", "--debug", "--", "-x")
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == "['--files', 'a,b', '--help', '--debug', '--', '-x'] False\n"


@pytest.mark.parametrize("end", ["interrupt", "prompt"])
def test_an_interrupt_ends_quietly_by_its_signal(driver: Path, end: str) -> None:
    done = run(driver, "try", end)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_a_closed_pipe_ends_quietly_by_its_signal(driver: Path) -> None:
    with subprocess.Popen(
        [sys.executable, driver, "try", "flood"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "line\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == -signal.SIGPIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_reported_in_one_sentence(driver: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, driver, "try", "json"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, "octavo: No space left on device\n")


@pytest.mark.parametrize("line", ["try json", "config", "cat ."])
def test_a_closed_stdout_is_not_a_failure(driver: Path, line: str, tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / "00000000000000000000.log").touch()
    words = ["/bin/sh", "-c", f'"$0" "$1" {line} >&-', sys.executable, str(driver)]
    done = subprocess.run(words, capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 0
    assert b"unexpected" not in done.stderr


def test_with_stderr_closed_an_error_does_not_go_to_stdout(driver: Path) -> None:
    words = ["/bin/sh", "-c", '"$0" "$1" try corrupt 2>&-', sys.executable, str(driver)]
    done = subprocess.run(words, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"before\n")
