"""Reading commands on URLs give the same answers as on this machine's disk; commands that change files refuse URLs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from octavo.jobs.source_configs import source_configs
from octavo.scanner.places.location import locate
from tests.cli.runs import Run, octavo, printed
from tests.golden import archives
from tests.s3 import KEY, SECRET, Server, s3_server

ARCHIVE = "v431-killed-recovered"
TOPIC = "crash.compacted"
READING = [
    ("topics", "--json"),
    ("verify", "--json"),
    ("cat", "--topic", TOPIC),
    ("describe", "--topic", TOPIC, "--json"),
    ("groups", "--json"),
    ("lookup", "--topic", TOPIC, "--partition", "0", "--offset", "100", "--json"),
]


@pytest.fixture(scope="module")
def s3() -> Iterator[Server]:
    with s3_server() as server:
        server.put("logs", archives.unpack(ARCHIVE))
        yield server


@pytest.fixture(params=["s3", "s3a", "memory", "file"])
def url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The archive as each kind of URL names it."""
    root = archives.unpack(ARCHIVE)
    if request.param == "file":
        return root.as_uri()
    if request.param == "memory":
        memory = fsspec.filesystem("memory")
        for file in archives.files(ARCHIVE):
            memory.pipe(f"/jobs/{file.relative_to(root)}", file.read_bytes())
        return "memory://jobs"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    server: Server = request.getfixturevalue("s3")
    return server.url("logs", request.param)


def below(url: str, path: str) -> str:
    head, mark, query = url.partition("?")
    return f"{head}/{path}{mark}{query}"


def placed(run: Run, place: str) -> Run:
    """A run's result with the place replaced by `HERE`."""
    shown = place.partition("?")[0].replace("s3a://", "s3://").removeprefix("file://")
    return Run(run.exit, run.stdout.replace(shown, "HERE"), run.stderr.replace(shown, "HERE"))


@pytest.mark.parametrize("line", READING, ids=lambda line: line[0])
def test_a_reading_command_answers_the_same(url: str, line: tuple[str, ...]) -> None:
    command, *options = line
    here = str(archives.unpack(ARCHIVE))
    found = placed(printed(command, url, *options), url)
    assert found == placed(printed(command, here, *options), here)
    assert found.exit == 0
    assert found.stdout


def test_verify_accepts_a_partition_and_a_segment(url: str) -> None:
    for path in (f"{TOPIC}-0", f"{TOPIC}-0/{0:020}.log"):
        run = octavo("verify", below(url, path))
        assert run.exit == 0, run.stderr
        assert "0 problems" in run.stdout


def test_explain_reads_a_file(url: str) -> None:
    path = f"{TOPIC}-0/{0:020}.log"
    here = octavo("explain", str(archives.unpack(ARCHIVE) / path))
    assert octavo("explain", below(url, path)).stdout == here.stdout
    assert here.stdout


def test_a_copy_takes_configs_and_id_along(url: str, tmp_path: Path) -> None:
    """They come from the cluster's metadata: a compacted topic stays compacted."""
    for target, source in (("there", url), ("here", str(archives.unpack(ARCHIVE)))):
        run = octavo("copy", source, str(tmp_path / target), "--topic", TOPIC)
        assert (run.exit, run.stderr) == (0, "")
    there, here = (json.loads((tmp_path / name / "octavo-topics.json").read_text()) for name in ("there", "here"))
    assert there == here
    assert there["topics"][TOPIC]["configs"]["cleanup.policy"] == "compact"
    assert there["topics"][TOPIC]["topicId"] == "MXWK2Jq3RsWviYQ4R4WFpw"


def test_a_copy_takes_the_configs_of_our_own_file_along(s3: Server, tmp_path: Path) -> None:
    created = tmp_path / "created"
    assert octavo("create", str(created), "--topic", "t", "--partitions", "1", "--config", "retention.ms=5").exit == 0
    s3.put("created", created)
    url = s3.url("created").replace("://", f"://{KEY}:{SECRET.replace('/', '%2F')}@")
    assert octavo("copy", url, str(tmp_path / "copy"), "--topic", "t").exit == 0
    stored = [
        json.loads((root / "octavo-topics.json").read_text())["topics"]["t"] for root in (created, tmp_path / "copy")
    ]
    assert stored[0]["topicId"] == stored[1]["topicId"]
    assert stored[1]["configs"] == {"retention.ms": "5"}


def test_a_topics_file_that_cannot_be_understood_is_named_by_its_url(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/odd/t-0/00000000000000000000.log", b"")
    memory.pipe("/odd/octavo-topics.json", b"[")
    run = octavo("copy", "memory://odd", str(tmp_path / "copy"), "--topic", "t")
    assert run.exit == 1
    assert run.stderr.startswith("octavo: memory://odd/octavo-topics.json: expected a JSON object")
    assert not (tmp_path / "copy").exists()


def test_a_topic_id_that_cannot_be_read_is_noted(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    assert octavo("create", str(root), "--topic", "t", "--partitions", "1").exit == 0
    (root / "t-0" / "partition.metadata").write_text("nonsense")
    run = octavo("copy", str(root), str(tmp_path / "copy"), "--topic", "t")
    assert "partition.metadata: not read" in run.stderr
    assert "the topic id is not copied from here" in run.stderr


def test_a_partition_alone_brings_its_configs_along(url: str) -> None:
    """They are in the folder that contains it."""
    configs = source_configs([locate(below(url, f"{TOPIC}-0")).parent])
    assert "compact" in configs.of(TOPIC).cleanup_policy


CHANGING = [
    ("recover",),
    ("retain",),
    ("compact",),
    ("reindex",),
    ("upgrade",),
    ("create", "--topic", "t"),
    ("alter", "--topic", "t", "--config", "retention.ms=1"),
    ("delete", "--topic", "t"),
    ("truncate", "--topic", "t", "--partition", "0", "--offset", "1"),
    ("delete-records", "--topic", "t", "--partition", "0", "--offset", "1"),
    ("produce", "--topic", "t"),
    ("consume", "--topic", "t", "--group", "g"),
    ("broker",),
]


@pytest.mark.parametrize("line", CHANGING, ids=lambda line: line[0])
def test_a_command_that_changes_files_refuses_a_url(line: tuple[str, ...], tmp_path: Path) -> None:
    run = octavo(line[0], f"s3://{KEY}:{SECRET}@octavo/logs?region=x", *line[1:], folder=tmp_path)
    ways_out = "copy them to a local directory (octavo copy URL DIR), or only read the files (octavo.scan; commands "
    problem = f"cannot change files at a URL; {ways_out}cat, topics, verify; broker --read-only)"
    assert (run.exit, run.stdout, run.stderr) == (1, "", f"octavo: s3://octavo/logs: {problem}\n")
    assert not list(tmp_path.iterdir())


def test_a_dry_run_at_a_url_names_the_command_that_works_there(tmp_path: Path) -> None:
    run = octavo("recover", "--dry-run", f"s3://{KEY}:{SECRET}@octavo/logs?region=x", folder=tmp_path)
    problem = "a dry run needs local files; to see what is damaged at a URL, use `octavo verify URL`"
    assert (run.exit, run.stdout, run.stderr) == (1, "", f"octavo: s3://octavo/logs: {problem}\n")


def test_a_copy_to_a_url_is_refused(tmp_path: Path) -> None:
    source = str(archives.unpack(ARCHIVE))
    run = octavo("copy", source, f"s3://{KEY}:{SECRET}@octavo/logs", "--topic", TOPIC, folder=tmp_path)
    problem = "cannot write to a URL; give a local directory as DST"
    assert (run.exit, run.stdout, run.stderr) == (1, "", f"octavo: s3://octavo/logs: {problem}\n")
    assert not list(tmp_path.iterdir())


def test_a_command_that_changes_files_accepts_a_file_url(tmp_path: Path) -> None:
    assert octavo("create", (tmp_path / "logs").as_uri(), "--topic", "t").exit == 0
    assert (tmp_path / "logs" / "t-0").is_dir()
