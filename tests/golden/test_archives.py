"""The golden archives are the ones that the manifest describes."""

from __future__ import annotations

import hashlib

import pytest

from tests.golden import archives


@pytest.mark.parametrize("name", archives.archives())
def test_archive_is_the_one_in_the_manifest(name: str) -> None:
    entry = archives.entry(name)
    packed = (archives.GOLDEN / entry["archive"]).read_bytes()
    assert hashlib.sha256(packed).hexdigest() == entry["sha256"]
    assert len(archives.files(name)) == entry["files"]
    for kind in ("records", "dumps", "lookups"):
        if kind in entry:
            beside = (archives.GOLDEN / entry[kind]["file"]).read_bytes()
            assert hashlib.sha256(beside).hexdigest() == entry[kind]["sha256"]


@pytest.mark.parametrize("name", ["v431-two-dirs", "upgrade-mixed"])
def test_recorded_answers_have_as_many_lines_as_the_manifest_says(name: str) -> None:
    entry = archives.entry(name)
    assert sum(1 for _ in archives.records(name)) == entry["records"]["lines"]
    assert sum(1 for _ in archives.dumps(name)) == entry["dumps"]["commands"]
    assert sum(1 for _ in archives.lookups(name)) == entry.get("lookups", {"lines": 0})["lines"]


def test_an_archive_without_records_yields_none() -> None:
    assert list(archives.records("v431-corrupt")) == []


def test_dumps_of_the_old_tools_are_at_hand() -> None:
    assert ["stdout" in run for run in archives.own_dumps("seed-003-v0")] == [True, True]


def test_preallocated_files_stay_sparse() -> None:
    index = archives.unpack("v431-killed") / "crash.big-index-0" / "00000000000000000000.index"
    status = index.stat()
    assert status.st_size == 10485760
    assert status.st_blocks * 512 < status.st_size
