"""kill -9 of a process with eight producers, again and again: nothing acknowledged is lost or duplicated.

It is killed five times, by `make soak` a hundred times (OCTAVO_KILLS=100).
"""

from __future__ import annotations

import json
import os
import random
import select
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from octavo.storage.log.read import Isolation
from octavo.storage.log_manager import LogManager
from tests.crash.writer_process import (
    CONFIGS,
    IDEMPOTENT,
    OPENED,
    OPENING,
    PARTITIONS,
    TOPIC,
    TRANSACTIONAL,
    is_aborted,
)
from tests.storage.consumed import consume

KILLS = int(os.environ.get("OCTAVO_KILLS", "5"))
REPOSITORY = Path(__file__).parents[2]
PATIENCE_SECONDS = 120


@dataclass
class Acknowledged:
    """What all processes together have reported as flushed."""

    next: dict[int, int] = field(default_factory=dict)  # a producer's next sequence, or transaction
    ended: set[tuple[int, int, int]] = field(default_factory=set)  # transactions: producer, number, epoch
    duplicates: int = 0

    def take(self, line: str) -> None:
        kind, *numbers = line.split()
        if kind == "sent":
            producer_id, sequence, is_duplicate = map(int, numbers)
            self.next[producer_id] = sequence
            self.duplicates += is_duplicate
        elif kind == "ended":
            producer_id, number, epoch = map(int, numbers)
            self.next[producer_id] = number + 1
            self.ended.add((producer_id, number, epoch))


class Process:
    """The writing process, and the lines it reports."""

    def __init__(self, folder: Path, acknowledged: Acknowledged, epoch: int) -> None:
        self._acknowledged = acknowledged
        state = json.dumps({"next": acknowledged.next, "epoch": epoch})
        line = [sys.executable, "-m", "tests.crash.writer_process", str(folder), state]
        self._process = subprocess.Popen(line, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self._process.stdout is not None
        self._output = self._process.stdout.fileno()
        self._left = b""

    def wait_for(self, lines: int, *, until: str = OPENED) -> None:
        """Read up to the line `until`, and this many lines after it."""
        seen = None
        while seen is None or seen < lines:
            data = os.read(self._output, 1 << 16) if self._has_output(PATIENCE_SECONDS) else b""
            if not data:
                raise AssertionError(f"the process ended or hangs: {self._stderr()}")
            for line in self._take(data):
                if seen is not None:
                    seen += 1
                elif line == until:
                    seen = 0

    def wait_a_moment(self, seconds: float) -> None:
        """Wait this long, or until something is reported."""
        self._has_output(seconds)

    def _has_output(self, seconds: float) -> bool:
        poll = select.poll()  # unlike select(), it accepts descriptors above 1023
        poll.register(self._output, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def kill(self) -> None:
        """kill -9; what was reported before counts."""
        self._process.kill()
        self._process.wait()
        while data := os.read(self._output, 1 << 16):
            self._take(data)
        told = self._stderr()
        assert not told, told
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _take(self, data: bytes) -> list[str]:
        *lines, self._left = (self._left + data).split(b"\n")
        taken = [line.decode() for line in lines]
        for line in taken:
            self._acknowledged.take(line)
        return taken

    def _stderr(self) -> str:
        self._process.kill()
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            return stream.read().decode()


def check_directory(folder: Path, acknowledged: Acknowledged) -> None:
    with LogManager(folder) as logs:
        values, committed = Counter[str](), Counter[str]()
        for partition in range(PARTITIONS):
            log = logs.log(TOPIC, partition)
            values.update((record.value or b"").decode() for record in consume(log, max_bytes=1 << 20))
            seen = consume(log, Isolation.READ_COMMITTED, max_bytes=1 << 20)
            committed.update((record.value or b"").decode() for record in seen)
    assert not [value for value, times in (values | committed).items() if times > 1], "records that are there twice"
    check_idempotent(values, acknowledged)
    check_transactions(committed, acknowledged)


def check_idempotent(values: Counter[str], acknowledged: Acknowledged) -> None:
    sequences: dict[int, list[int]] = defaultdict(list)
    for value in values:
        writer, sequence, *_ = value.split(":")
        sequences[int(writer)].append(int(sequence))
    for producer_id in IDEMPOTENT:
        found = sorted(sequences[producer_id])
        assert found == list(range(len(found))), "sequences with gaps"
        assert len(found) >= acknowledged.next.get(producer_id, 0), "acknowledged records are lost"


def check_transactions(committed: Counter[str], acknowledged: Acknowledged) -> None:
    found: Counter[tuple[int, int, int]] = Counter()
    for value in committed:
        producer_id, number, epoch, *_ = value.split(":")
        if int(producer_id) in TRANSACTIONAL:
            found[int(producer_id), int(number), int(epoch)] += 1
    assert set(found.values()) <= {4}, "transactions that are seen in part"
    assert not [one for one in found if is_aborted(one[1])], "aborted transactions are seen"
    assert {one for one in acknowledged.ended if not is_aborted(one[1])} <= set(found), "commits are lost"


def test_nothing_acknowledged_is_lost_and_nothing_is_there_twice(tmp_path: Path) -> None:
    with LogManager(tmp_path) as logs:
        logs.create_topic(TOPIC, PARTITIONS, CONFIGS)
    draw, acknowledged = random.Random(9), Acknowledged()
    for number in range(KILLS):
        process = Process(tmp_path, acknowledged, epoch=number)
        if number % 5 == 3:  # while it recovers, or soon after
            process.wait_for(0, until=OPENING)
            process.wait_a_moment(draw.random() * 0.3)
        else:
            process.wait_for(draw.randrange(1, 300))
        process.kill()
    check_directory(tmp_path, acknowledged)
    assert len(acknowledged.next) == len(IDEMPOTENT) + len(TRANSACTIONAL)
    assert acknowledged.duplicates > 0, "no batch was in flight at any kill"
