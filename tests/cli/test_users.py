"""`octavo users`: SCRAM users in a log directory."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from octavo.broker.security.scram import ScramMechanism
from octavo.broker.security.store import SecurityStore
from octavo.storage.log_manager import LogManager
from tests.cli.runs import Run, octavo


@pytest.fixture
def logs(tmp_path: Path) -> str:
    LogManager(tmp_path / "logs", create=True).close()
    return str(tmp_path / "logs")


def with_password(monkeypatch: pytest.MonkeyPatch, password: str, *line: str) -> Run:
    monkeypatch.setattr(sys, "stdin", io.StringIO(password))
    return octavo(*line)


def test_users_are_added_listed_and_removed(logs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert octavo("users", logs) == Run(0, "", "octavo: there are no users; --add USER adds one\n")
    assert with_password(monkeypatch, "secret\n", "users", logs, "--add", "alice").exit == 0
    assert with_password(monkeypatch, "other\n", "users", logs, "--add", "bob", "--iterations", "8192").exit == 0
    assert octavo("users", logs).stdout.splitlines() == [
        "alice: SCRAM-SHA-256, SCRAM-SHA-512",
        "bob: SCRAM-SHA-256, SCRAM-SHA-512",
    ]
    assert json.loads(octavo("users", logs, "--json").stdout.splitlines()[1]) == {
        "user": "bob",
        "mechanisms": {"SCRAM-SHA-256": 8192, "SCRAM-SHA-512": 8192},
    }
    assert "secret" not in Path(logs, "octavo-security.json").read_text()
    with LogManager(logs) as opened:
        assert set(SecurityStore(opened).scram(ScramMechanism.SCRAM_SHA_512)) == {"alice", "bob"}
    assert octavo("users", logs, "--delete", "alice").exit == 0
    assert octavo("users", logs).stdout == "bob: SCRAM-SHA-256, SCRAM-SHA-512\n"


def test_adding_the_first_user_creates_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = str(tmp_path / "new")
    assert octavo("users", new).exit == 1
    assert not Path(new).exists()
    assert with_password(monkeypatch, "secret\n", "users", new, "--add", "admin") == Run(0, "", "")
    assert octavo("users", new).stdout == "admin: SCRAM-SHA-256, SCRAM-SHA-512\n"


def test_what_cannot_be_done(logs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = octavo("users", logs, "--delete", "carol")
    assert (refused.exit, refused.stderr) == (1, "octavo: there is no user 'carol'; there are no users\n")
    assert with_password(monkeypatch, "", "users", logs, "--add", "carol").exit == 2
    assert octavo("users", logs, "--add", "carol", "--delete", "carol").exit == 2
    assert octavo("users", logs).stdout == ""
