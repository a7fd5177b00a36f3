"""Compares a suite's results with the tests that Kafka 4.3.1 passes, and with those that have passed here.

    python compat/judge.py SUITE octavo|kafka RESULTS     print a suite's counts, and what is missing or worse
    python compat/judge.py table CACHE                    print one line per suite, from their last results

`tests.kafka` lists what a real 4.3.1 passes, `tests.allow` what Octavo passes too: if a test of the latter does not
pass, that is an error. COMPAT_GROW=1 adds tests that pass for the first time; none is ever removed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROW = "| {:<24} | {:>11} | {:>6} | {:>7} | {:>6} | {:>7} |"
HEADS = ("suite", "Kafka 4.3.1", "Octavo", "allowed", "worse", "to gain")


def names(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def read_results(path: Path) -> dict[str, str]:
    """Each test's verdict; a test that was repeated has passed if it passed once."""
    found: dict[str, str] = {}
    for line in names(path):
        verdict, name = line.split("\t", 1)
        if found.get(name) != "pass":
            found[name] = verdict
    return found


def judge(suite: str, against: str, results: Path) -> int:
    verdicts = read_results(results)
    passed = {name for name, verdict in verdicts.items() if verdict == "pass"}
    folder = HERE / suite
    counts = ", ".join(f"{list(verdicts.values()).count(kind)} {kind}" for kind in ("pass", "fail", "skip"))
    print(f"{suite} against {against}: {counts}")
    if against == "kafka":
        if os.environ.get("COMPAT_GROW"):
            write(folder / "tests.kafka", passed)
        return 0
    kafka, allowed = set(names(folder / "tests.kafka")), set(names(folder / "tests.allow"))
    worse = sorted(allowed - passed)
    for name in sorted(kafka - passed):
        kind = "WORSE" if name in worse else "missing"
        print(f"  {kind}: {name} ({verdicts.get(name, 'not run')})")
    if os.environ.get("COMPAT_GROW"):
        write(folder / "tests.allow", passed & kafka)
    elif gained := sorted((passed & kafka) - allowed):
        print(f"  passed, but not in tests.allow yet: {len(gained)} (COMPAT_GROW=1 adds them)")
    return 1 if worse else 0


def write(path: Path, found: set[str]) -> None:
    path.write_text("".join(f"{name}\n" for name in sorted(found | set(names(path)))))


def table(cache: Path) -> int:
    print(ROW.format(*HEADS))
    print("|" + "|".join("-" * width for width in (26, 13, 8, 9, 8, 9)) + "|")
    is_worse = False
    for folder in sorted(path.parent for path in HERE.glob("*/run.sh")):
        kafka, allowed = set(names(folder / "tests.kafka")), set(names(folder / "tests.allow"))
        verdicts = read_results(cache / folder.name / "octavo" / "results.tsv")
        passed = {name for name, verdict in verdicts.items() if verdict == "pass"}
        worse = len(allowed - passed)
        shown = (len(passed & kafka), len(allowed), worse) if verdicts else ("not run", len(allowed), "-")
        print(ROW.format(folder.name, len(kafka), *shown, len(kafka - passed) if verdicts else "-"))
        is_worse |= bool(verdicts) and bool(worse)
    return int(is_worse)


if __name__ == "__main__":
    if sys.argv[1] == "table":
        sys.exit(table(Path(sys.argv[2])))
    sys.exit(judge(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
