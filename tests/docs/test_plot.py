"""The README's plot is drawn from the results that `make bench` kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.plot import JOBS, PICTURE, picture
from benchmarks.results import Result, keep, kept

MEASURED = Result("verify, d1", 0.5, "kafka-dump-log deep", 10.0, "cpu", False, 1.0, "2026-11-17", "2 × a processor")


def test_the_plot_is_up_to_date() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(kept()), "run `python -m benchmarks.plot`"


def test_every_job_that_can_be_drawn_was_measured() -> None:
    assert set(JOBS) <= set(kept())


def test_a_bar_shows_its_ratio_and_where_it_was_measured() -> None:
    drawn = picture({MEASURED.job: MEASURED})
    assert ">20 ×<" in drawn
    assert "2026-11-17 on 2 × a processor" in drawn
    assert "*" not in drawn


def test_a_figure_from_elsewhere_is_marked() -> None:
    quoted = Result(**{**MEASURED.__dict__, "quoted": True})
    assert "kafka-dump-log*" in picture({quoted.job: quoted})


def test_a_job_that_runs_again_replaces_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_RESULTS", str(tmp_path / "results.json"))
    keep(MEASURED)
    keep(Result("other", 1.0, "peer", 2.0, "wall", True, 0.5))
    keep(Result(**{**MEASURED.__dict__, "seconds": 0.25}))
    rows = kept(tmp_path / "results.json")
    assert [row.job for row in rows.values()] == ["verify, d1", "other"]
    assert rows["verify, d1"].times == 40
    assert json.loads((tmp_path / "results.json").read_text())[1]["machine"]
