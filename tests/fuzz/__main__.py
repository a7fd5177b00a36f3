"""`python -m tests.fuzz`: progress on stderr, the summary on stdout, exit 1 on a finding."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.fuzz.inputs import Plan
from tests.fuzz.run import Finding, Outcome, run
from tests.fuzz.targets import TARGETS
from tests.fuzz.worker import attempt


def main() -> int:
    options = parse()
    if options.input is not None:
        return again(options.target, options.input)
    targets = [TARGETS[options.target]] if options.target else list(TARGETS.values())
    plan = Plan(targets, options.seed, options.inputs)
    start = time.monotonic()
    last = 0.0

    def progress(outcome: Outcome) -> None:
        nonlocal last
        now = time.monotonic() - start
        if now - last >= 10:
            last = now
            print(
                f"{outcome.inputs} of {plan.inputs} inputs, {len(outcome.findings)} findings, {now:.0f} s",
                file=sys.stderr,
            )

    outcome = run(plan, options.processes, seconds=options.seconds, progress=progress)
    summarize(plan, outcome, time.monotonic() - start)
    for finding in outcome.findings:
        save(finding, plan.seed, options.save)
    return 1 if outcome.findings else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="how many inputs to make")
    parser.add_argument("--seed", type=int, default=0, help="decides what the inputs are")
    parser.add_argument("--target", choices=TARGETS, help="one target instead of all")
    parser.add_argument("--seconds", type=float, help="stop after this many seconds")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--save", type=Path, default=Path("build/fuzz"), help="where the inputs of findings go")
    parser.add_argument("--input", type=Path, help="feed only this file to --target, without limits on time and memory")
    options = parser.parse_args()
    if options.input is not None and options.target is None:
        parser.error("--input needs --target")
    return options


def again(name: str, path: Path) -> int:
    """Run one saved input in this process, for a debugger, a sanitizer or a traceback."""
    is_accepted, problem = attempt(TARGETS[name], path.read_bytes())
    print(problem or ("accepted" if is_accepted else "refused with the documented error"))
    return 0 if problem is None else 1


def summarize(plan: Plan, outcome: Outcome, seconds: float) -> None:
    for target in plan.targets:
        accepted, refused = outcome.accepted[target.name], outcome.refused[target.name]
        print(f"{target.name:20} {accepted + refused:>9} inputs {accepted:>9} accepted {refused:>9} refused")
    print(f"{outcome.inputs} inputs of seed {plan.seed} in {seconds:.0f} s: {len(outcome.findings)} findings")


def save(finding: Finding, seed: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{finding.target}-{seed}-{finding.number}.bin"
    path.write_bytes(finding.data)
    print(f"\n{finding.target}, input {finding.number} of seed {seed} ({len(finding.data)} bytes): {finding.problem}")
    print(f"again: python -m tests.fuzz --target {finding.target} --input {path}")


if __name__ == "__main__":
    sys.exit(main())
