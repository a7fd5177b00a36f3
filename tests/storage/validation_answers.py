"""Answers to the sets of the validation matrix: what real Kafka answered once, and what Octavo answers."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from octavo.config import LogConfig
from octavo.errors import CorruptionError, KafkaError
from octavo.format.batches.batch import decode_batch
from octavo.format.batches.batch_summary import summarize
from octavo.format.batches.walker import walk
from octavo.storage.append.append_info import AppendInfo
from octavo.storage.append.assignment import Assignment, WritableBatches
from octavo.storage.append.validate import assign_offsets
from octavo.storage.append_origin import AppendOrigin, AppendRequest
from octavo.storage.log.validation_settings import ValidationSettings
from tests.storage.produced_sets import NOW
from tests.storage.validation_case import FIRST_OFFSET, LEADER_EPOCH, Answer, Case

GOLDEN_FILE = Path(__file__).parents[1] / "data" / "validation.jsonl.xz"


GOLDEN = {
    line.pop("case"): line for line in map(json.loads, lzma.decompress(GOLDEN_FILE.read_bytes()).decode().splitlines())
}


def golden(case: Case) -> Answer:
    line = GOLDEN[str(case)]
    return Answer(**{**line, "data": bytes.fromhex(line["data"]), "at": tuple(line["at"])})


def info_of(table: NDArray[np.void]) -> AppendInfo:
    return AppendInfo(table, summarize(table))


def assign(
    data: bytes | bytearray | memoryview,
    configs: Mapping[str, str] | None = None,
    *,
    origin: AppendOrigin = AppendOrigin.CLIENT,
    trusted: bool = False,
    first_offset: int = FIRST_OFFSET,
) -> WritableBatches:
    assignment = Assignment(first_offset, NOW, LEADER_EPOCH, ValidationSettings.of(LogConfig.of(configs or {})))
    request = AppendRequest(origin, LEADER_EPOCH, trusted=trusted)
    return assign_offsets(memoryview(data), info_of(walk(data).table), request, assignment)


def answered(case: Case, *, trusted: bool = False) -> Answer:
    try:
        result = assign(case.data, case.configs, origin=case.origin, trusted=trusted)
    except KafkaError as error:
        return Answer(error.kafka_name, tuple(record.batch_index for record in getattr(error, "record_errors", ())))
    assert walk(result.data).table.tolist() == result.table.tolist()
    return Answer(None, (), bytes(result.data), result.max_timestamp, result.last_offset + 1)


def tells_the_truth(batch: bytes) -> bool:
    """Whether a batch is one that Octavo's encoder could have made."""
    try:
        header, found = decode_batch(batch)
    except CorruptionError:
        return False
    times = [record.timestamp for record in found]
    return (
        header.size == len(batch)
        and header.magic == 2
        and len(found) > 0
        and [record.offset for record in found] == list(range(len(found)))
        and header.max_timestamp == max(times)
        and min(times) >= -1
    )
