"""A process of eight producers on one directory, to be killed: `python -m tests.crash.writer_process DIR STATE`.

STATE is JSON: how far earlier processes acknowledged the work of each producer, and the epoch of this process. Lines on
stdout say when the directory is being opened and is open; every other line is an acknowledgement, written when what it
names is flushed.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

from octavo.format.batches.batch import Origin, build_batch
from octavo.format.batches.control import ControlType
from octavo.format.record import Record
from octavo.storage.append_origin import AppendOrigin
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from tests.storage.producer_batches import marker

TOPIC, PARTITIONS = "t", 3
CONFIGS = {"segment.bytes": 20_000, "index.interval.bytes": 500, "retention.ms": -1}
# Checkpoints are written often, so that the next start recovers from the middle of the logs.
BROKER_CONFIGS = {
    "log.initial.task.delay.ms": 10,
    "log.flush.offset.checkpoint.interval.ms": 20,
    "log.flush.start.offset.checkpoint.interval.ms": 50,
}
IDEMPOTENT, TRANSACTIONAL = range(100, 106), range(200, 202)
OPENING, OPENED = "opening", "opened"
TIME_MS = time.time_ns() // 1_000_000  # current, because producers of old records would count as expired


def is_aborted(number: int) -> bool:
    """Whether a producer aborts its transaction of this number."""
    return number % 3 == 0


def say(*words: object) -> None:
    """Write each line with one call, so that a kill leaves whole lines."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def send(log: PartitionLog, values: list[str], origin: Origin) -> bool:
    """Append a batch; returns whether the log had it already."""
    records = [Record(number, TIME_MS, None, value.encode()) for number, value in enumerate(values)]
    data = bytearray(build_batch(records, origin=origin))
    return log.append_as_leader(data, leader_epoch=0).is_duplicate


def produce(log: PartitionLog, producer_id: int, sequence: int) -> None:
    """Send one batch at a time, beginning with the one that the last process did not acknowledge."""
    while True:
        count = 1 + (sequence * 7 + producer_id) % 5
        origin = Origin(producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
        duplicate = send(log, [f"{producer_id}:{sequence + number}:{'v' * 50}" for number in range(count)], origin)
        log.flush()
        sequence += count
        say("sent", producer_id, sequence, int(duplicate))


def transact(log: PartitionLog, producer_id: int, epoch: int, number: int) -> None:
    """Run transactions one after the other, with this process's epoch; one that is still ongoing is aborted first."""

    def end(kind: ControlType) -> None:
        data = marker(0, kind, epoch=epoch, producer_id=producer_id, timestamp=TIME_MS)
        log.append_as_leader(data, leader_epoch=0, origin=AppendOrigin.COORDINATOR, transaction_version=0)

    known = log.producers.table.get(producer_id)
    if known is not None and known.current_txn_first_offset is not None:
        end(ControlType.ABORT)
    sequence = 0
    while True:
        for half in (0, 1):
            values = [f"{producer_id}:{number}:{epoch}:{half}{one}" for one in (0, 1)]
            origin = Origin(
                producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, is_transactional=True
            )
            send(log, values, origin)
            sequence += 2
        end(ControlType.ABORT if is_aborted(number) else ControlType.COMMIT)
        log.flush()
        say("ended", producer_id, number, epoch)
        number += 1


def main(folder: str, state: str) -> None:
    given = json.loads(state)
    say(OPENING)
    logs = LogManager(Path(folder), configs=BROKER_CONFIGS)
    say(OPENED)
    threads = []
    for producer_id in (*IDEMPOTENT, *TRANSACTIONAL):
        log, done = logs.log(TOPIC, producer_id % PARTITIONS), given["next"].get(str(producer_id), 0)
        if producer_id in IDEMPOTENT:
            threads.append(threading.Thread(target=produce, args=(log, producer_id, done)))
        else:
            threads.append(threading.Thread(target=transact, args=(log, producer_id, given["epoch"], done)))
    for thread in threads:
        thread.start()


if __name__ == "__main__":
    main(*sys.argv[1:])
