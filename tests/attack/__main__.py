"""`python -m tests.attack`: attacks the library; progress on stderr, the scoreboard on stdout, exit 1 on a finding."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.attack import ext4, tmpfs
from tests.attack.campaign import run_series, series
from tests.attack.scoreboard import scoreboard
from tests.attack.tally import Tally

# How many of each by default; all of them take some minutes.
COUNTS = {
    "kills": (50, "kill -9 of busy processes"),
    "power_losses": (50, "power losses at any operation, in memory"),
    "ext4_losses": (10, "power losses of ext4 images; needs root"),
    "full_disks": (50, "disks that are full at any operation"),
    "tmpfs_disks": (10, "small tmpfs disks that fill up; needs root"),
    "hostile": (500, "hostile files"),
    "interrupts": (200, "KeyboardInterrupts in calls"),
    "forks": (2, "forks of a busy process, many children each"),
    "concurrency_seconds": (30, "seconds of everything at once on threads"),
}


def main() -> int:
    options = parse()
    wanted = {name: getattr(options, name) for name in COUNTS}
    if options.only:
        wanted = {name: count if name in options.only else 0 for name, count in wanted.items()}
    skipped = {}
    with tempfile.TemporaryDirectory() as probe:
        for module, name, shown in (
            (ext4, "ext4_losses", "power losses of ext4"),
            (tmpfs, "tmpfs_disks", "full disks of tmpfs"),
        ):
            reason = module.reason_to_skip(Path(probe)) if wanted[name] else None
            if reason is not None:
                skipped[shown], wanted[name] = reason, 0
    tally, start = Tally(), time.monotonic()
    for one in series(wanted):
        tally.add(run_series(one, options.seed, options.evidence, options.jobs))
    for finding in tally.findings:
        print(finding, end="\n\n")
    print(scoreboard(tally, skipped, options.seed, time.monotonic() - start))
    if tally.findings:
        print(f"the evidence is in {options.evidence}", file=sys.stderr)
    return 1 if tally.findings else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    for name, (count, meaning) in COUNTS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=count, metavar="N", help=meaning)
    parser.add_argument("--only", nargs="+", choices=COUNTS, help="run only these attacks")
    parser.add_argument(
        "--seed", type=int, default=0, help="decides every random choice; each run of an attack uses the next seed"
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many attacks run at a time")
    parser.add_argument("--evidence", type=Path, default=Path("build/attack"), help="where findings are kept")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
