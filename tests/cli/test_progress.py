"""The progress bar: only on a terminal, and only for long work."""

from __future__ import annotations

import io

import pytest

from octavo.cli import progress


def test_no_terminal_no_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", -1)
    with progress.progress_bar("counting", 100) as advance:
        advance(50)
    assert capsys.readouterr().err == ""


def test_a_bar_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", -1)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress.progress_bar("counting", 100) as advance:
        advance(30)
        advance(70)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "counting" in shown.err
    assert "100/100 bytes" in shown.err


def test_short_work_shows_no_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 1000)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress.progress_bar("counting", 100) as advance:
        advance(100)
    assert capsys.readouterr().err == ""


def test_a_line_and_its_break_are_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a line that another thread prints at the same moment would get between them."""
    stream, written = io.StringIO(), list[str]()
    monkeypatch.setattr(stream, "write", written.append)
    progress.print_line("t-0: 1 batch", stream)
    assert written[0] == "t-0: 1 batch\n"
