"""Hostile files: commands and `LogDir` answer, or refuse with a sentence, within limits on time and memory; reading
changes nothing."""

from __future__ import annotations

import faulthandler
import io
import os
import shutil
import stat
import traceback
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from tempfile import TemporaryFile

import octavo
from octavo.cli import main
from octavo.errors import OctavoError
from tests.attack import isolation
from tests.attack.hostile_base import CONFIGS, PARTITION, TIME_MS, TOPIC, make_base
from tests.attack.hostile_cases import damage
from tests.attack.tally import Tally
from tests.fuzz.worker import limit_memory

SECONDS = 60.0  # for everything done with one case, even on a busy machine
COMMANDS_OF_ONE_CASE = 3
READING = (
    *(["cat", "LOGS", "--topic", TOPIC], ["cat", "LOGS", "--format", "csv", "--isolation-level", "read_committed"]),
    *(["verify", "LOGS"], ["topics", "LOGS"], ["explain", "FILE"]),
    ["lookup", "LOGS", "--topic", TOPIC, "--partition", "0", "--timestamp", str(TIME_MS + 5)],
    *(["dump-log", "--print-data-log", "--files", "FILE"], ["dump-log", "--deep-iteration", "--files", "INDEX"]),
    *([command, "LOGS", "--dry-run"] for command in ("recover", "compact", "retain", "reindex", "upgrade")),
)


def attack(seed: int, folder: Path, cases: int = 50) -> Tally:
    """Run this many cases from a seed; one that hangs or crashes is a finding, and the next one follows."""
    tally, first = Tally(), 0
    while first < cases:
        process, receiving = isolation.start(_serve, seed, first, cases, folder)
        current = ""
        try:
            while first < cases:
                current, findings = receiving.recv()
                if findings is None:  # it is just starting
                    continue
                tally.counts["hostile files"] += 1
                tally.findings += [f"case {first}, {current}: {finding}" for finding in findings]
                first += 1
        except EOFError:
            last = (folder / "hang.txt").read_text(errors="replace")
            tally.counts["hostile files"] += 1
            tally.findings.append(f"case {first}, {current}: it hangs or dies: {last}")
            first += 1
        process.join()
        receiving.close()
    return tally


def _serve(seed: int, first: int, cases: int, folder: Path, sending: Connection) -> None:
    """Run cases with limits on time and memory, so that a false length field fails instead of filling the machine."""
    base = folder / "base"
    if not base.exists():
        make_base(base)
    limit_memory()
    with (folder / "hang.txt").open("w") as last_words:
        for number in range(first, cases):
            faulthandler.dump_traceback_later(SECONDS, exit=True, file=last_words)
            draw, case = Random(f"hostile {seed}/{number}"), folder / "case"
            shutil.rmtree(case, ignore_errors=True)
            shutil.copytree(base, case / "logs")
            what = damage(draw, case / "logs")
            sending.send((what, None))
            sending.send((what, list(_findings(draw, case))))
            faulthandler.cancel_dump_traceback_later()


def _findings(draw: Random, case: Path) -> Iterator[str]:
    root = case / "logs"
    before = state(case)
    for command in draw.sample(READING, COMMANDS_OF_ONE_CASE):
        yield from _run(_filled(command, draw, root))
        now = state(case)
        if now != before:
            yield f"{command[0]} has changed {sorted(set(now.items()) ^ set(before.items()))[:4]}"
    yield from _open(root)
    precious = case / "precious.log"
    if precious.exists() and precious.read_bytes() != b"precious" * 100:
        yield "a file outside of the directory has changed"


def _filled(command: list[str], draw: Random, root: Path) -> list[str]:
    files = sorted((root / PARTITION).iterdir())
    file = draw.choice([path for path in files if path.suffix == ".log"] or files)
    index = draw.choice([path for path in files if path.suffix != ".log"] or files)
    places = {"LOGS": str(root), "FILE": str(file), "INDEX": str(index)}
    return [places.get(word, word) for word in command]


def _run(line: list[str]) -> Iterator[str]:
    """What a command does wrong."""
    with TemporaryFile() as shown_file, TemporaryFile() as said_file:  # some commands write to their descriptors
        try:
            with (
                redirect_stdout(io.TextIOWrapper(shown_file, write_through=True)) as out,
                redirect_stderr(io.TextIOWrapper(said_file, write_through=True)) as err,
            ):
                code = main(line)
        except BaseException:
            yield f"octavo {' '.join(line)} raised {traceback.format_exc()}"
            return
        out.detach(), err.detach()
        shown_file.seek(0), said_file.seek(0)
        shown, said = shown_file.read(), said_file.read().decode("utf-8", "replace")
    if code not in (0, 1) or "octavo: unexpected" in said or "Traceback" in said:
        yield f"octavo {' '.join(line)}: exit code {code}, {said[-1000:]}"
    if line[0] in ("topics", "verify", "cat") and b"\x1b" in shown:
        yield f"octavo {' '.join(line)} prints a raw escape character"


def _open(root: Path) -> Iterator[str]:
    """What goes wrong when opening the directory, reading and writing."""
    try:
        with octavo.LogDir(root, background=False, configs=CONFIGS) as logs:
            with logs.consumer(TOPIC, consumer_timeout_ms=0) as consumer:
                read = sum(1 for _ in consumer)
            with logs.producer() as producer:
                producer.send(TOPIC, b"another").result(5)
            if logs.offline:
                yield f"offline after {read} records: {logs.offline}"
    except OctavoError as error:
        if str(root) not in str(error) and PARTITION not in str(error):
            yield f"LogDir refuses without a path: {type(error).__name__}: {error}"
        if "offline" in str(error):
            yield f"LogDir is offline: {error}"
    except Exception:
        yield f"LogDir raised {traceback.format_exc()}"


def state(folder: Path) -> dict[str, tuple[int, ...]]:
    """What reading must not change: kinds, sizes, times and inode numbers of everything there."""
    found: dict[str, tuple[int, ...]] = {}
    for path, folders, files in os.walk(folder):
        for name in (*folders, *files):
            status = os.lstat(os.path.join(path, name))  # noqa: PTH118 (three times as fast)
            size = status.st_size if stat.S_ISREG(status.st_mode) else 0
            found[os.path.join(path, name)] = (status.st_mode, size, status.st_mtime_ns, status.st_ino)  # noqa: PTH118
    return found
