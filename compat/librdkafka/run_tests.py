"""Runs librdkafka's tests, one process per test number, and prints one line of `results.tsv` per test.

    python run_tests.py TESTS-FOLDER OUTPUT-FOLDER [--leave-out NUMBERS] [NUMBER...]

Without numbers, every test that needs a broker is run, except manual tests and known issues. A test that fails is run
once more, alone: some depend on timing.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SECONDS = int(os.environ.get("COMPAT_SECONDS", "900"))
JOBS = int(os.environ.get("COMPAT_JOBS", "4"))
OPTIONS = ("-p1", "-L")  # one test at a time; only those that need a broker
_ROW = re.compile(r"^\| *(\d{4}_\w+) *\| *(\w+) *\| *[\d.]+s *\|", re.MULTILINE)
_PASSED = re.compile(r"=+ Test (\d{4}_\w+) PASSED =+")
_FAILURE = re.compile(r'### Test "(\d{4}_\w+)')
_VERDICTS = {"PASSED": "pass", "SKIPPED": "skip"}


def numbers_of(tests: Path) -> list[str]:
    """The numbers of tests that need a broker, without manual tests and known issues, from the runner's table."""
    source = (tests / "test.c").read_text()
    table = re.findall(r"_TEST\((\d{4})_\w+,\s*([^,)]*)", source[source.index("struct test tests[]") :])
    return sorted({number for number, flags in table if not re.search("LOCAL|MANUAL|KNOWN_ISSUE(?!_)", flags)})


def run(tests: Path, log: Path, number: str) -> dict[str, str]:
    """The verdict of each test with this number."""
    environment = {**os.environ, "TESTS": number}
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["./test-runner", *OPTIONS], cwd=tests, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            env=environment, start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return {number: "fail"}
    text = re.sub(r"\x1b\[[\d;]*m", "", log.read_text(errors="replace"))
    found = {name: _VERDICTS.get(state, "fail") for name, state in _ROW.findall(text) if name.startswith(number)}
    if found:
        return found
    # A failing test usually aborts the runner before it prints its table; others with its number may have passed.
    failed = dict.fromkeys(_FAILURE.findall(text), "fail") or {number: "fail"}
    return {**dict.fromkeys(_PASSED.findall(text), "pass"), **failed}


def main(tests: Path, folder: Path, numbers: Iterable[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)

    def first(number: str) -> dict[str, str]:
        started = time.monotonic()
        found = run(tests, folder / f"{number}.log", number)
        print(f"{number} {time.monotonic() - started:.0f} s {found}", file=sys.stderr, flush=True)
        return found

    with ThreadPoolExecutor(JOBS) as pool:
        verdicts = dict(zip(numbers, pool.map(first, numbers), strict=True))
    for number, found in verdicts.items():
        if "fail" in found.values():
            passed = {name: verdict for name, verdict in found.items() if verdict == "pass"}
            found = {**found, **run(tests, folder / f"{number}-again.log", number), **passed}
            print(f"{number} again {found}", file=sys.stderr, flush=True)
        for name, verdict in found.items():
            print(verdict, f"{folder.name}/{name}", sep="\t", flush=True)


if __name__ == "__main__":
    source, out, *wanted = sys.argv[1:]
    left_out: set[str] = set()
    if wanted[:1] == ["--leave-out"]:
        left_out, wanted = set(wanted[1].split(",")), wanted[2:]
    chosen = wanted or numbers_of(Path(source))
    main(Path(source), Path(out), [number for number in chosen if number not in left_out])
