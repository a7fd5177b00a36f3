"""`octavo config`: the table in a pipe, on a terminal and as JSON; one config in full."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from octavo.config import BROKER_CONFIGS, TOPIC_CONFIGS
from tests.cli.terminal import octavo_on_terminal

CONFIG = [sys.executable, "-m", "octavo", "config"]
NAMES = [*TOPIC_CONFIGS, *BROKER_CONFIGS]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CONFIG, *arguments], capture_output=True, encoding="utf-8", check=False)


def test_in_a_pipe_there_is_one_line_per_config() -> None:
    done = run()
    assert (done.returncode, done.stderr) == (0, "")
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["name", "of", "type", "default", "range", "broker", "synonyms", "meaning"]
    assert [line.split()[0] for line in lines] == NAMES
    retention = next(line for line in lines if line.startswith("retention.ms "))
    assert retention.split("  ")[0] == "retention.ms"
    assert "log.retention.ms, log.retention.minutes (minutes), log.retention.hours (hours)" in retention
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("columns", [72, 80, 200])  # 72: every name fits on its line, with its scope
def test_on_a_terminal_the_table_fits(columns: int) -> None:
    seen = octavo_on_terminal(columns, "config")
    plain = seen.replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert max(map(len, plain.splitlines())) <= columns
    assert [line.split()[0] for line in plain.splitlines() if not line.startswith(" ")] == NAMES
    assert "\x1b[1mretention.ms\x1b[0m  (topic)\n    LONG, default 604800000 (7 d), ≥ -1\n" in seen
    assert "default 9223372036854775807, " in " ".join(plain.split())  # flush.ms: never


def test_as_json_there_is_one_object_per_config() -> None:
    done = run("--json")
    rows = {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert list(rows) == NAMES
    assert rows["retention.ms"] == {
        "name": "retention.ms",
        "scope": "topic",
        "type": "LONG",
        "default": "604800000",
        "range": "≥ -1",
        "meaning": TOPIC_CONFIGS["retention.ms"].doc,
        "brokerSynonyms": [
            {"name": "log.retention.ms", "unit": None},
            {"name": "log.retention.minutes", "unit": "minutes"},
            {"name": "log.retention.hours", "unit": "hours"},
        ],
        "internal": False,
    }
    assert rows["log.dirs"]["default"] is None
    assert rows["cordoned.log.dirs"]["default"] == ""
    assert rows["internal.segment.bytes"]["internal"] is True


def test_one_config_in_full() -> None:
    done = run("--describe", "segment.bytes")
    assert done.returncode == 0
    text = " ".join(done.stdout.split())
    assert TOPIC_CONFIGS["segment.bytes"].doc in text
    assert "config of a topic type INT default 1073741824 range ≥ 14 broker log.segment.bytes" in text


def test_an_internal_config_is_said_to_be_internal() -> None:
    assert "a topic (internal: brokers accept it but do not list it)" in run(
        "--describe", "internal.segment.bytes"
    ).stdout.replace("\n", " ")


def test_a_synonym_is_a_brokers_config() -> None:
    (row,) = run("--describe", "log.roll.hours", "--json").stdout.splitlines()
    described = json.loads(row)
    assert (described["scope"], described["type"], described["default"]) == ("broker", "INT", "168")
    meaning = "The default of segment.ms, given in hours; used if log.roll.ms is not set. "
    assert described["meaning"].startswith(meaning)


def test_an_unknown_config_is_wrong_usage_and_the_nearest_is_named() -> None:
    done = run("--describe", "segment.bites")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "octavo: Invalid value for '--describe': segment.bites is not a config (did you mean segment.bytes?); "
        "see `octavo config --help`\n"
    )
