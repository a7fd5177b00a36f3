"""What commands say when something is wrong: what, where, and what to do next."""

from __future__ import annotations

import errno
import importlib
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import octavo as library
from octavo.cli.command_table import COMMANDS
from octavo.storage.directory.log_root import OFFLINE_LOG
from octavo.storage.segment.log_file import LogFile
from octavo.system.filesystem import LocalFileSystem, Lock
from octavo.system.os_errors import described, placed
from tests.cli.owners import locked
from tests.cli.producing import produce
from tests.cli.runs import Run, octavo, printed
from tests.scanner.segments import write_segment
from tests.storage.batches import batch

FULL = "No space left on device"
ONLY_READ = "or only read the files (octavo.scan; commands cat, topics, verify; broker --read-only), or use --dry-run"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can play another user")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    root = tmp_path / "logs"
    for topic in ("t", "u", "v"):
        assert octavo("create", str(root), "--topic", topic).exit == 0
    return root


@contextmanager
def as_nobody() -> Iterator[None]:
    """Within the block, files are opened as another user. That user may be unable to read the modules of commands, so
    these are imported first."""
    for command in COMMANDS.values():
        importlib.import_module(command.module)
    octavo("recover", "/nowhere")
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def let_others_through(folder: Path) -> None:
    for each in (folder, *folder.parents):
        if each.owner() == "root" and each.name.startswith(("pytest", "popen", "test")):
            each.chmod(0o711)


def give(path: Path, user: int) -> None:
    for each in (path, *path.rglob("*")):
        os.chown(each, user, -1)


@needs_root
def test_recover_names_every_partition_that_it_cannot_read_and_sums_up(logs: Path, tmp_path: Path) -> None:
    (logs / ".kafka_cleanshutdown").unlink()
    give(logs, 65534)
    let_others_through(tmp_path)
    for name in ("t-0", "u-0"):
        give(logs / name, 0)
        (logs / name).chmod(0o700)
    octavo("recover", str(logs), "--dry-run")
    with as_nobody():
        run = octavo("recover", str(logs))
    said = [f"octavo: {logs / name}: not recovered: Permission denied" for name in ("t-0", "u-0")]
    assert run.exit == 1
    assert run.stderr.splitlines() == [f"{line}; run as the broker's user" for line in said]
    assert "of 1 partition checked" in run.stdout


@needs_root
@pytest.mark.parametrize("line", [("recover",), ("create", "--topic", "z"), ("topics",)], ids=" ".join)
def test_a_directory_of_another_user_is_reported_once_with_what_to_do(
    logs: Path, tmp_path: Path, line: tuple[str, ...]
) -> None:
    let_others_through(tmp_path)
    logs.chmod(0o700 if line[0] == "topics" else 0o755)
    octavo(line[0], str(logs), *line[1:])
    with as_nobody():
        run = octavo(line[0], str(logs), "--topic", "y") if line[0] == "create" else octavo(line[0], str(logs))
    where, more = (logs, "") if line[0] == "topics" else (logs / ".lock", f", {ONLY_READ}")
    assert run == Run(1, "", f"octavo: {where}: Permission denied; run as the broker's user{more}\n")


@needs_root
def test_a_broker_refuses_a_directory_where_it_can_change_only_the_lock(logs: Path, tmp_path: Path) -> None:
    (logs / ".lock").touch()
    give(logs, 65534)
    os.chown(logs, 0, -1)
    let_others_through(tmp_path)
    logs.chmod(0o755)
    with as_nobody():
        run = octavo("broker", str(logs), "--listen", "127.0.0.1:0")
    said = f"octavo: {logs}: Permission denied; run as the broker's user, {ONLY_READ}\n"
    assert run == Run(1, "", said)
    assert (logs / ".kafka_cleanshutdown").exists()


@needs_root
def test_a_dry_run_of_reindex_needs_no_permission_to_write(logs: Path, tmp_path: Path) -> None:
    let_others_through(tmp_path)
    with as_nobody():
        run = octavo("reindex", str(logs), "--dry-run")
    assert (run.exit, run.stderr, run.stdout) == (0, "", "0 of 3 segments would get new indexes\n")


def test_a_disk_mounted_for_reading_only_says_what_still_works(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: LocalFileSystem, path: Path) -> Lock:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(LocalFileSystem, "lock", refuse)
    run = octavo("broker", str(logs), "--listen", "127.0.0.1:0")
    problem = f"{logs}/.lock: Read-only file system; mount it for writing, {ONLY_READ}"
    assert run == Run(1, "", f"octavo: {logs} is offline: {problem}\n")


@needs_root
@pytest.mark.parametrize(("form", "end"), [("json", ""), ("parquet", ""), ("parquet", "/")])
def test_an_output_where_one_may_not_write_is_not_reported_as_a_brokers_file(
    logs: Path, tmp_path: Path, form: str, end: str
) -> None:
    give(logs, 65534)
    let_others_through(tmp_path)
    (tmp_path / "locked").mkdir(0o711)
    output = tmp_path / "locked" / "records"
    with as_nobody():
        run = octavo("cat", str(logs), "--format", form, "--output", f"{output}{end}")
    assert run == Run(1, "", f"octavo: {output}: Permission denied; choose a place that you may write to\n")


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be appended to a log."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(LogFile, "append", refuse)


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_reported_once_by_produce(logs: Path) -> None:
    run = produce(logs, b"v")
    assert run == Run(1, "", f"octavo: line 1: {logs}/t-0: cannot append: its directory is offline: {FULL}\n")


def test_a_full_disk_is_reported_once_by_copy(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    for partition in range(2):
        write_segment(source / f"t-{partition}", 0, batch(0))
    request.getfixturevalue("full_disk")
    run = octavo("copy", str(source), str(target))
    assert run.exit == 1
    *partitions, last = run.stderr.splitlines()
    assert [line.partition(": ")[2].partition(":")[0] for line in sorted(partitions)] == ["t-0", "t-1"]
    assert last == f"octavo: {target} is offline: {FULL}"
    assert run.stderr.count(FULL) == 1


def test_a_directory_that_goes_offline_is_not_printed_by_the_logging_module() -> None:
    """The caller gets the error; Python's fallback for loggers without a handler would print it a second time."""
    program = (
        "import logging, octavo.storage.directory.log_root as module;"
        "logging.getLogger(module.OFFLINE_LOG).error('%s is offline: %s', 'here', 'why')"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    assert logging.getLogger(OFFLINE_LOG).handlers


def test_a_partition_that_is_not_opened_is_printed_by_the_logging_module(tmp_path: Path) -> None:
    """No error says so: the warning must reach a program that has not set up logging."""
    link = tmp_path / "t-0"
    link.symlink_to(tmp_path / "unmounted")
    program = "import sys, octavo; octavo.LogDir(sys.argv[1]).close()"
    run = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    assert run.stderr.startswith(f"{link} is not opened: it is a link to a folder that does not exist")


def test_a_lock_names_its_holder_and_what_still_works(logs: Path) -> None:
    with locked(logs):
        for command in ("recover", "retain", "reindex"):
            run = octavo(command, str(logs))
            assert run.exit == 1
            assert f"octavo: {logs}: in use: process " in run.stderr
            assert ") holds .lock. Stop it first, " in run.stderr
            assert run.stderr.endswith(f"{ONLY_READ}\n")
        assert octavo("recover", str(logs), "--dry-run").exit == 0
        assert octavo("topics", str(logs)).exit == 0


@pytest.mark.parametrize("form", ["json", "csv", "raw", "arrow", "parquet"])
def test_a_full_disk_is_reported_with_the_name_of_the_output(tmp_path: Path, form: str) -> None:
    write_segment(tmp_path / "t-0", 0, *(batch(offset, 3) for offset in range(0, 3000, 3)))
    run = octavo("cat", str(tmp_path), "--format", form, "--output", "/dev/full")
    assert run == Run(1, "", "octavo: /dev/full: No space left on device\n")


def test_pyarrows_error_gets_the_path_and_the_systems_words() -> None:
    with pytest.raises(OSError, match="No space left") as raised, placed("out.parquet"):
        raise OSError("Error writing bytes to file. Detail: [errno 28] No space left on device")
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, "out.parquet")
    assert described(raised.value) == "out.parquet: No space left on device"


def test_damage_is_reported_with_its_offsets_and_how_to_look_at_it(tmp_path: Path) -> None:
    log = write_segment(tmp_path / "t-0", 0, batch(0, 3), batch(3, 2), batch(5))
    damaged = bytearray(log.read_bytes())
    position = len(batch(0, 3))
    damaged[position + len(batch(3, 2)) - 1] ^= 1
    log.write_bytes(damaged)
    run = printed("cat", str(tmp_path))
    assert run.exit == 1
    assert f"{log}: position {position}: a batch at offset 3 (up to 4, 2 records) whose CRC does not" in run.stderr
    assert run.stderr.endswith(f"; skipped (octavo explain --position {position} {log})\n")
    scan = library.scan(tmp_path, on_damage="skip")
    assert scan.to_table().num_rows == 4
    assert [note.is_damage for note in scan.notes] == [True]
    assert scan.damage_count == 1


@pytest.mark.parametrize("name", ["nosuch.log", "nosuch.index", "nosuch.timeindex", f"{0:020}.log"])
def test_dump_log_says_that_a_file_is_missing(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    run = octavo("dump-log", "--files", str(path))
    assert (run.exit, run.stderr) == (1, f"octavo: {path}: No such file or directory\n")
    assert run.stdout.startswith(f"Dumping {path}\n")


def test_dump_log_refuses_a_url_without_its_secrets() -> None:
    run = octavo("dump-log", "--files", "s3://KEY:SECRET@bucket/logs/t-0/00000000000000000000.log")
    assert (run.exit, run.stdout) == (1, "")
    assert run.stderr.startswith("octavo: s3://bucket/logs/t-0/00000000000000000000.log: dump-log reads local files")


def test_a_missing_place_is_reported_in_the_systems_words(tmp_path: Path) -> None:
    for command in ("topics", "cat", "verify"):
        run = octavo(command, str(tmp_path / "nosuch"))
        assert (run.exit, run.stdout) == (1, "")
        expected = "no such file or directory; expected a log directory, a partition's folder or a segment file"
        assert run.stderr == f"octavo: {tmp_path / 'nosuch'}: {expected}\n"
