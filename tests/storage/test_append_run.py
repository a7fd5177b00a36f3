"""Batches appended in runs leave the same files as batches appended one by one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from octavo.format.batches.batch import Origin
from octavo.format.batches.walker import walk
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.record import Record
from octavo.jobs.copy import run_length
from tests.storage.batches import batch
from tests.storage.open_logs import open_log
from tests.storage.producer_batches import ABORT, COMMIT, marker
from tests.storage.worlds import World

CONFIGS: list[dict[str, int | str]] = [
    {"segment.bytes": 2000, "index.interval.bytes": 300},
    {"segment.ms": 40, "index.interval.bytes": 0},
    {"segment.index.bytes": 40, "index.interval.bytes": 100},
    {"segment.ms": 1000, "max.compaction.lag.ms": 25, "cleanup.policy": "compact"},
    {},
]


def _origin(producer_id: int, sequence: int, is_transactional: bool) -> Origin:
    return Origin(producer_id=producer_id, producer_epoch=0, base_sequence=sequence, is_transactional=is_transactional)


def batches(rng: random.Random) -> list[bytes]:
    """Batches of several producers, two with transactions, some in an old format; with gaps between offsets."""
    made, offset, timestamp, epoch = [], 0, 1000, 0
    sequences = {7: 0, 8: 0, 9: 0}
    for _ in range(rng.randint(1, 60)):
        offset += rng.choice([0] * 9 + [5, 2**31])
        timestamp += rng.randint(-10, 15)
        epoch += rng.random() < 0.05
        count, producer_id, kind = rng.randint(1, 3), rng.choice([7, 8, 9]), rng.random()
        if kind < 0.1:
            made.append(encode_message_set([Record(offset, timestamp, b"k", bytes(rng.randint(0, 90)))], 1))
            count = 1
        elif kind < 0.2:
            ending = rng.choice([ABORT, COMMIT])
            made.append(marker(offset, ending, producer_id=rng.choice([8, 9]), timestamp=timestamp))
            count = 1
        else:
            origin = None
            if kind < 0.6:
                origin = _origin(producer_id, sequences[producer_id], producer_id > 7)
                sequences[producer_id] += count
            size = rng.randint(0, 300)
            made.append(batch(offset, count, timestamp=timestamp, value_bytes=size, epoch=epoch, origin=origin))
        offset += count
    return made


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("seed", range(40))
def test_runs_leave_the_same_files_as_single_batches(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    config = CONFIGS[seed % len(CONFIGS)]
    one, many = (open_log(World(), tmp_path / name, config) for name in ("one", "many"))
    sets = batches(rng)
    for data in sets:
        one.append_as_follower(data)
    whole = b"".join(sets)
    left = walk(whole).table
    while len(left):
        count = run_length(many, left)
        end = left[count - 1]
        many.append_as_follower(whole[int(left[0]["position"]) : int(end["position"] + end["size"])])
        left = left[count:]
    assert many.log_end_offset == one.log_end_offset
    one.close()
    many.close()
    assert files(many.folder) == files(one.folder)


def test_a_run_ends_where_it_must(tmp_path: Path) -> None:
    log = open_log(World(), tmp_path, {"segment.bytes": 1000})
    plain = [batch(number) for number in range(6)]
    marked = batch(6, origin=_origin(5, 0, True))
    table = walk(b"".join([*plain, marked, batch(7)])).table
    assert run_length(log, table) == 1  # it is the first in its segment
    log.append_as_follower(plain[0])
    assert run_length(log, table[1:]) == (1000 - len(plain[0])) // len(plain[0])
    assert run_length(log, table[6:]) == 1  # it is part of a transaction
    assert run_length(log, table[5:]) == 1  # the next one is
    assert run_length(log, table[[1, 3, 4]]) == 1  # offset 2 is missing between them
    assert run_length(log, table) == 1  # it is before the log's end
