"""Checks the records of an append: keys on compacted topics, and timestamps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import InvalidBatchError, InvalidTimestampError, RecordError, RecordsRejected
from octavo.format.record import TimestampType
from octavo.kernels.columns import BinaryColumn, RecordColumns
from octavo.kernels.layout import NO_TIMESTAMP
from octavo.storage.append.assignment import Assignment

Flags = NDArray[np.bool_]
Timestamps = NDArray[np.int64]


class Fault(NamedTuple):
    """Why a record is refused."""

    row: int
    problem: str
    is_of_time: bool = False


def check_records(columns: RecordColumns, claims_append_time: bool, assignment: Assignment) -> int:
    """The largest timestamp of a batch's records, -1 if they have none; raises if the topic refuses a record."""
    if not columns.rows:
        return NO_TIMESTAMP
    timestamps = columns.timestamp[: columns.rows]
    latest = int(timestamps.max())
    nulls = null_flags(columns.key, columns.rows)
    in_time = assignment.settings.takes_times(int(timestamps.min()), latest, assignment.now_ms)
    if claims_append_time or nulls is not None or not in_time:
        faults = find_faults(timestamps, nulls, claims_append_time, assignment)
        if faults:
            raise refusal(faults)
    return max(latest, NO_TIMESTAMP)


def find_faults(
    timestamps: Timestamps, null_keys: Flags | None, claims_append_time: Flags | bool, assignment: Assignment
) -> list[Fault]:
    """The records' violations of the topic's configs, at most one per record.

    `null_keys` matter only on compacted topics; None means that no key is null. `claims_append_time`: whether the
    header of the records' batch, or of each record's batch, claims LogAppendTime.
    """
    settings = assignment.settings
    is_create_time = settings.timestamp_type is TimestampType.CREATE_TIME
    keys = null_keys if settings.is_compacted and null_keys is not None else np.zeros(len(timestamps), np.bool_)
    stamped = (timestamps != NO_TIMESTAMP) & is_create_time
    ago = assignment.now_ms - timestamps  # wraps around as Java's long does
    too_far = stamped & ((ago > settings.timestamp_before_max_ms) | (-ago > settings.timestamp_after_max_ms))
    claims = ~stamped & claims_append_time
    faults = []
    for row in (keys | too_far | claims).nonzero()[0].tolist():
        if keys[row]:
            faults.append(Fault(row, "no key, but records of a compacted topic need one"))
        elif too_far[row]:
            faults.append(Fault(row, _beyond_limits(int(timestamps[row]), assignment), is_of_time=True))
        else:
            problem = "timestamp type LogAppendTime, but a producer must send CreateTime"
            faults.append(Fault(row, problem, is_of_time=True))
    return faults


def refusal(faults: Sequence[Fault]) -> RecordsRejected:
    """The error for a batch whose records have these faults."""
    kind = InvalidTimestampError if any(fault.is_of_time for fault in faults) else InvalidBatchError
    errors = tuple(RecordError(fault.row, fault.problem) for fault in faults)
    first = f"the first is record {errors[0].batch_index}: {errors[0].problem}"
    verb = "is" if len(errors) == 1 else "are"
    return kind(f"{len(errors)} of the batch's records {verb} refused; {first}", errors)


def null_flags(column: BinaryColumn | None, rows: int) -> Flags | None:
    """Which values of a column are null; None if there are no nulls."""
    return ~column.valid(rows) if column is not None and column.nulls else None


def _beyond_limits(timestamp: int, assignment: Assignment) -> str:
    first = assignment.now_ms - assignment.settings.timestamp_before_max_ms
    last = assignment.now_ms + assignment.settings.timestamp_after_max_ms
    return f"timestamp {timestamp}, expected {first} to {last}"
