"""Places to read from: one function for paths and URLs."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from types import SimpleNamespace

import fsspec
import pytest

from octavo.errors import ScanError
from octavo.scanner.places.location import Entry, Location, locate, read_fully
from octavo.system.urls import local_path


@pytest.fixture(params=["path", "file", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    """A folder with a file `a` of ten bytes and a folder `b`, given as a path and as URLs."""
    if request.param == "memory":
        memory = fsspec.filesystem("memory")
        memory.pipe(f"{tmp_path}/a", b"0123456789")
        memory.pipe(f"{tmp_path}/b/c", b"")
        return locate(f"memory:/{tmp_path}")
    (tmp_path / "b").mkdir()
    (tmp_path / "a").write_bytes(b"0123456789")
    os.utime(tmp_path / "a", ns=(0, 1_700_000_000_123_456_789))
    return locate(tmp_path if request.param == "path" else f"file://{tmp_path}/")


def test_a_folder_lists_what_it_holds(folder: Location) -> None:
    listed = {entry.name: entry for entry in folder.list()}
    assert listed.keys() == {"a", "b"}
    assert (listed["a"].size, listed["a"].is_folder) == (10, False)
    assert (listed["b"].size, listed["b"].is_folder) == (0, True)
    assert folder.child("a").entry() == listed["a"]
    assert folder.entry().is_folder


def test_times_are_milliseconds(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    os.utime(tmp_path / "a", ns=(0, 1_700_000_000_123_456_789))
    assert locate(tmp_path).list() == [Entry("a", 0, 1_700_000_000_123, False)]


def test_a_file_is_read_at_positions_and_whole(folder: Location) -> None:
    location = folder.child("a")
    buffer = memoryview(bytearray(4))
    with location.open() as file:
        assert file.size() == 10
        assert file.pread(buffer, 3) == 4
        assert bytes(buffer) == b"3456"
        assert file.pread(buffer, 8) == 2
        assert file.pread(buffer, 10) == 0
        assert file.pread(buffer, 99) == 0
        assert read_fully(file, buffer, 7) == 3
    assert location.read() == b"0123456789"


def test_what_is_not_there_is_not_found(folder: Location) -> None:
    missing = folder.child("no")
    for look in (missing.open, missing.list, missing.entry, missing.read):
        with pytest.raises(FileNotFoundError):
            look()


def test_a_place_has_a_name_a_parent_and_a_form_to_show(folder: Location) -> None:
    child = folder.child("a")
    assert child.name == "a"
    assert child.parent.path == folder.path
    assert str(child) == f"{folder}/a"
    assert locate(str(child)).read() == b"0123456789"


def test_a_place_travels_to_other_processes(folder: Location) -> None:
    again = pickle.loads(pickle.dumps(folder.child("a")))
    assert again.read() == b"0123456789"


def test_a_relative_path_stays_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "topic-0").mkdir()
    monkeypatch.chdir(tmp_path / "topic-0")
    assert (str(locate(".")), locate(".").name) == (".", "topic-0")
    assert str(locate(".").child("a")) == "./a"
    assert locate(".").parent.path == str(tmp_path)
    assert locate("a").parent.path == str(tmp_path / "topic-0")
    assert locate("a/b/").path == "a/b"
    assert locate("/").path == "/"


def test_what_vanishes_while_a_folder_is_listed_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "there").write_bytes(b"")
    assert [entry.name for entry in locate(tmp_path).list()] == ["there"]


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("foo://x", "foo://x: Protocol not known: foo"),
        ("foo:/x", "foo:///x: Protocol not known: foo"),
        ("file://host/x", "file://host/x: a file on another machine; give a path on this one"),
        ("s3://bucket?no_such=1", "s3://bucket: Unexpected query parameter in S3 URI: 'no_such'"),
    ],
)
def test_a_url_that_nobody_understands_is_an_error(url: str, problem: str) -> None:
    with pytest.raises(ScanError, match=problem):
        locate(url)


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("logs", "logs"),
        ("/logs", "/logs"),
        ("a:/logs", "a:/logs"),
        ("at/10:/logs", "at/10:/logs"),
        ("file:/a%20b", "/a%20b"),
        ("file:///a%20b", "/a b"),
        ("File://localhost/logs", "/logs"),
        ("hdfs:/logs", None),
        ("s3://bucket/logs", None),
    ],
)
def test_a_local_path_is_known_in_each_of_its_spellings(place: str, path: str | None) -> None:
    assert local_path(place) == path


def test_a_path_as_spark_spells_it_is_read(tmp_path: Path) -> None:
    assert locate(f"file:{tmp_path}") == locate(tmp_path)


def test_a_url_without_a_host_may_have_one_slash() -> None:
    fsspec.filesystem("memory").pipe("/one/slash", b"0123456789")
    assert locate("memory:/one/slash").read() == b"0123456789"


def test_a_file_system_that_cannot_be_loaded_is_an_error_with_its_url(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(url: str) -> None:
        raise OSError("Unable to load libjvm")

    monkeypatch.setattr("octavo.scanner.places.remote.fs.FileSystem", SimpleNamespace(from_uri=refuse))
    with pytest.raises(ScanError, match="hdfs:///logs: Unable to load libjvm"):
        locate("hdfs:/logs")


def test_credentials_in_a_url_are_not_shown() -> None:
    place = locate("s3://KEY:SECRET@bucket/logs?region=x")
    assert str(place.child("orders-0")) == "s3://bucket/logs/orders-0"
    with pytest.raises(ScanError) as raised:
        locate("s3://KEY:SECRET@bucket?no_such=1")
    assert "SECRET" not in str(raised.value)


def test_without_fsspec_the_message_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(ScanError, match="other file systems need fsspec"):
        locate("memory://x")


def test_a_path_of_bytes_is_refused() -> None:
    with pytest.raises(ScanError, match="a path must be text, not bytes"):
        locate(b"logs")  # type: ignore[arg-type]
