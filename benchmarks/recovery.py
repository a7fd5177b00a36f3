"""Recovery compared with a broker's: what the next start does with an unflushed segment, in one thread.

The broker finds the same bytes, as a crash would leave them, and its log says how long it took to load them. If it is
not available (`make kafka`), an earlier measurement takes its place.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.interop.broker import Broker

from benchmarks import kafka
from benchmarks.data import D1, D4, FOLDER, DataSet
from benchmarks.measure import Contender
from benchmarks.reading import Versus, nothing
from octavo.config import LogConfig
from octavo.format.names import CLEAN_SHUTDOWN, RECOVERY_POINT_CHECKPOINT, FileKind, SegmentFile, TopicPartition
from octavo.format.small_files.checkpoint import encode_offsets
from octavo.storage.environment import Environment
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recovery.load import LoadRequest
from octavo.system.scheduler import EndScheduler

GATES = {D1: 2.5, D4: 15.0}
# The broker's speed per thread, on an idle machine: 0.8 to 1.2 GB/s, 0.6 M batches/s.
QUOTED_BYTES_A_SECOND, QUOTED_BATCHES_A_SECOND = 1.2e9, 0.6e6
ONE_THREAD = {"num.recovery.threads.per.data.dir": "1"}


def recovery_jobs(scale: float) -> Iterator[Versus]:
    with tempfile.TemporaryDirectory(dir=FOLDER) as root:
        for data, gate in GATES.items():
            folder = Path(root, f"{data.name}-0")
            folder.mkdir()
            path = folder / SegmentFile(0, FileKind.LOG).name
            os.link(data.path(scale), path)
            ours = Contender("recovery", partial(recover, folder))
            quoted = _quoted(data, scale, path.stat().st_size)
            yield Versus(f"recovery of a segment, {data.name}", ours, _peer(data, scale), gate, "wall", quoted)


def recover(folder: Path) -> None:
    environment = Environment(EndScheduler())
    log = PartitionLog(LoadRequest(folder=folder, config=LogConfig.of(), environment=environment, clean=False))
    log.abandon("it is no longer read")


def _peer(data: DataSet, scale: float) -> Contender:
    if not kafka.is_here():
        return Contender("a broker's thread", nothing)
    broker = Broker(FOLDER / f"recovery-{data.name}-{scale:g}", ONE_THREAD)
    return Contender("a broker's thread", partial(recover_by_broker, broker, data, scale))


def recover_by_broker(broker: Broker, data: DataSet, scale: float) -> float:
    """The seconds for the log alone, according to the broker.

    It starts as if it had not been stopped cleanly and nothing of the segment had been flushed: the clean-shutdown mark
    is removed, and the recovery point is 0.
    """
    kafka.prepare(broker, scale, (data,))
    (broker.log_dir / CLEAN_SHUTDOWN).unlink(missing_ok=True)
    (broker.log_dir / RECOVERY_POINT_CHECKPOINT).write_bytes(encode_offsets({TopicPartition(data.name, 0): 0}))
    broker.start()
    broker.stop()
    said = broker.output.read_text()
    assert f"Recovering unflushed segment 0. 0 recovered for {data.name}-0" in said, broker.output
    found = re.search(rf"Completed load of .*/{data.name}-0, .* log-end-offset {data.rows(scale)} in (\d+)ms", said)
    assert found is not None, broker.output
    return int(found[1]) / 1000


def _quoted(data: DataSet, scale: float, size: int) -> float:
    if data.records_a_batch == 1:
        return data.rows(scale) / QUOTED_BATCHES_A_SECOND
    return size / QUOTED_BYTES_A_SECOND
