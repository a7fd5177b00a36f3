"""A short run of the fuzzer, and a check that it would find what it looks for."""

from __future__ import annotations

import ctypes
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from octavo.errors import CorruptionError
from tests.fuzz.inputs import Plan
from tests.fuzz.run import run
from tests.fuzz.target import Target
from tests.fuzz.targets import TARGETS
from tests.fuzz.worker import attempt

SEED = 20
INPUTS_EACH = 100  # for each unit of a target's weight


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_mutated_inputs_are_accepted_or_refused(target: Target) -> None:
    for number in range(INPUTS_EACH * target.weight):
        data = target.make(Random(f"{SEED}/{number}"))
        _, problem = attempt(target, data)
        assert problem is None, f"input {number}: {problem}\n{data.hex()}"


def test_inputs_are_made_from_seed_and_number_alone() -> None:
    plan = Plan(list(TARGETS.values()), SEED, 1000)
    again = Plan(list(TARGETS.values()), SEED, 1000)
    other = Plan(list(TARGETS.values()), SEED + 1, 1000)
    made = [plan.make(number) for number in range(200)]
    assert [again.make(number) for number in range(200)] == made
    assert [other.make(number) for number in range(200)] != made


def test_every_target_gets_its_share() -> None:
    schedule = Plan(list(TARGETS.values()), SEED, 1000).schedule()
    assert {target.name: schedule.count(target) for target in TARGETS.values()} == {
        target.name: target.weight for target in TARGETS.values()
    }


FIFTH = Random(f"{SEED}/4").randbytes(5)


def spoiled(misdeed: Callable[[], None]) -> Target:
    """A target that keeps the contract for all inputs but the fifth."""
    return Target("spoiled", lambda random: random.randbytes(5), lambda data: misdeed() if data == FIFTH else None)


def raise_value_error() -> None:
    raise ValueError("not the documented error")


def point_elsewhere() -> None:
    raise CorruptionError("beyond the input", position=6)


def loop_for_ever() -> None:
    while True:
        pass


def loop_without_python() -> None:
    sum(itertools.repeat(0))  # no Python signal handler would be called here


def believe_a_length() -> None:
    bytearray(4 << 30)


def take_memory() -> None:
    bytearray(b"x") * (128 << 20)


def crash() -> None:
    ctypes.string_at(0)


@pytest.mark.parametrize(
    ("misdeed", "sentence"),
    [
        (raise_value_error, "ValueError: not the documented error"),
        (point_elsewhere, "position 6 in an input of 5 bytes"),
        (loop_for_ever, "took too much CPU time"),
        (loop_without_python, "took too much CPU time"),
        (believe_a_length, "MemoryError"),
        (take_memory, "MiB of memory"),
        (crash, "ended the process"),
    ],
)
def test_what_breaks_the_contract_is_found(
    misdeed: Callable[[], None], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if misdeed is believe_a_length and not Path("/proc/self/statm").exists():
        pytest.skip("only Linux can limit the address space")
    if sentence == "took too much CPU time":  # the others keep the long limit: fresh pages are slow on a busy machine
        monkeypatch.setattr("tests.fuzz.worker.CPU_SECONDS", 0.3)
    outcome = run(Plan([spoiled(misdeed)], SEED, 12), processes=1)
    (finding,) = outcome.findings
    assert sentence in finding.problem
    assert (finding.number, finding.target, finding.data) == (4, "spoiled", FIFTH)
    assert outcome.accepted["spoiled"] >= 7, "the run continues with the inputs after it"


def test_the_command_prints_a_summary(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--inputs", "200", "--target", "varint", "--save", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "200 inputs of seed 0" in done.stdout and "0 findings" in done.stdout


def test_a_saved_input_runs_again(tmp_path: Path) -> None:
    path = tmp_path / "input.bin"
    path.write_bytes(b"\xff" * 20)
    command = [sys.executable, "-m", "tests.fuzz", "--target", "varint", "--input", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "refused with the documented error\n")
