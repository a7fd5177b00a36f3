"""Runs many attacks, one after the other or several at a time, and keeps the evidence of those with findings."""

from __future__ import annotations

import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.attack import concurrency, ext4, forks, full_disk, hostile_files, interrupts, kills, power_loss, tmpfs
from tests.attack.isolation import isolated
from tests.attack.tally import Tally

HOSTILE_AT_ONCE = 50
CONCURRENCY_SECONDS_AT_ONCE = 60
_PROGRESS_SECONDS = 10
_LIMIT_SECONDS = 150  # far more than an attack takes

Attack = Callable[[int, Path], Tally]  # runs an attack with a seed in a folder


@dataclass(frozen=True)
class Series:
    """A number of runs of one attack."""

    name: str
    attack: Attack
    runs: int


def in_own_process(attack: Callable[..., Tally], *arguments: float) -> Attack:
    """An attack in its own process, so that a hang or a crash does not end the others."""

    def run(seed: int, folder: Path) -> Tally:
        tally: Tally = isolated(attack, seed, folder, *arguments, seconds=_LIMIT_SECONDS, notes=folder)
        return tally

    return run


def series(wanted: dict[str, int]) -> Iterator[Series]:
    """The runs that add up to the wanted counts, or a few more."""
    yield Series("kills", kills.attack, _runs(wanted["kills"], kills.KILLS_OF_ONE_DIRECTORY))
    yield Series("power losses", in_own_process(power_loss.attack), wanted["power_losses"])
    yield Series("power losses of ext4", ext4.attack, wanted["ext4_losses"])
    yield Series("full disks", in_own_process(full_disk.attack), wanted["full_disks"])
    yield Series("full disks of tmpfs", tmpfs.attack, wanted["tmpfs_disks"])
    yield Series(
        "hostile files", partial(hostile_files.attack, cases=HOSTILE_AT_ONCE), _runs(wanted["hostile"], HOSTILE_AT_ONCE)
    )
    each = interrupts.INTERRUPTS_OF_ONE_DIRECTORY
    yield Series("interrupts", in_own_process(interrupts.attack), _runs(wanted["interrupts"], each))
    yield Series("forks", in_own_process(forks.attack), wanted["forks"])
    seconds = min(CONCURRENCY_SECONDS_AT_ONCE, wanted["concurrency_seconds"])
    runs = _runs(wanted["concurrency_seconds"], seconds or 1)
    yield Series("concurrency", in_own_process(concurrency.attack, seconds), runs)


def _runs(wanted: int, each: int) -> int:
    return -(-wanted // each)


def run_series(one: Series, seed: int, folder: Path, jobs: int) -> Tally:
    """Run a series with seeds from this one on, reporting progress on stderr."""
    tally, start, last = Tally(), time.monotonic(), 0.0
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(run_one, one, seed + number, folder) for number in range(one.runs)]
        for done, future in enumerate(as_completed(futures), 1):
            tally.add(future.result())
            now = time.monotonic() - start
            if now - last >= _PROGRESS_SECONDS or done == one.runs:
                last = now
                print(
                    f"{one.name}: {done} of {one.runs} runs, {len(tally.findings)} findings, {now:.0f} s",
                    file=sys.stderr,
                )
    return tally


def run_one(one: Series, seed: int, folder: Path) -> Tally:
    """Run one attack in its own folder, which is kept if there are findings, with the findings next to its files."""
    place = folder / f"{one.name.replace(' ', '-')}-{seed}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        tally = one.attack(seed, place)
    except Exception:
        tally = Tally(findings=[traceback.format_exc()])
    tally.findings = [f"{one.name}, seed {seed}: {finding}" for finding in tally.findings]
    if tally.findings:
        (place / "findings.txt").write_text("\n\n".join(tally.findings), encoding="utf-8", errors="backslashreplace")
    else:
        shutil.rmtree(place, ignore_errors=True)
    return tally
