"""Records as Python objects, for users and small jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, pairwise, repeat
from typing import NamedTuple

import numpy as np

from octavo.format.java.utf8 import decode_utf8
from octavo.format.record import Header, TimestampType
from octavo.kernels.columns import BinaryColumn, RecordColumns
from octavo.scanner.findings import ScanFindings
from octavo.scanner.reading.plan import ReadTask
from octavo.scanner.reading.read import COLUMNS, Filling, TaskReader


class ConsumerRecord(NamedTuple):
    """A record as a consumer gets it. None means null, which differs from empty; timestamp −1 means none."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: TimestampType
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


DecodeRecord = Callable[[ConsumerRecord], ConsumerRecord]  # such as one that turns bytes into objects

# Does what NamedTuple's constructor does, but without its Python call, which takes half the time of a record.
_make_record = partial(tuple.__new__, ConsumerRecord)
_NO_HEADERS: tuple[Header, ...] = ()
# So few records are made at a time that the next ones reuse memory which is still in the cache (1.5 times as fast).
_ROWS_AT_ONCE = 1024


def read_records(tasks: Iterable[ReadTask], findings: ScanFindings) -> Iterator[ConsumerRecord]:
    """The records of tasks, one after the other, with all columns."""
    reader = TaskReader(tuple(COLUMNS), findings)
    return chain.from_iterable(
        records_of(task.topic, task.partition, filling) for task in tasks for filling in _wanted(reader, task)
    )


def _wanted(reader: TaskReader, task: ReadTask) -> Iterator[Filling]:
    if task.where is None:
        return reader.fillings(task)
    from octavo.scanner.reading.matching import matching  # pyarrow takes long to import

    return matching(reader.fillings(task), task.where)


def records_of(topic: str, partition: int, filling: Filling) -> Iterator[ConsumerRecord]:
    """The rows of a filling, made on demand: take all of them before its columns are filled again."""
    return chain.from_iterable(
        _rows(topic, partition, filling._replace(start=start, stop=min(start + _ROWS_AT_ONCE, filling.stop)))
        for start in range(filling.start, filling.stop, _ROWS_AT_ONCE)
    )


def _rows(topic: str, partition: int, filling: Filling) -> Iterator[ConsumerRecord]:
    columns, start, stop = filling.columns, filling.start, filling.stop
    rows = zip(
        repeat(topic),
        repeat(partition),
        columns.offset[start:stop].tolist(),
        columns.timestamp[start:stop].tolist(),
        repeat(filling.timestamp_type),
        _values(columns.key, start, stop),
        _values(columns.value, start, stop),
        _headers(columns, start, stop),
        strict=False,
    )
    return map(_make_record, rows)


def _values(column: BinaryColumn | None, start: int, stop: int) -> Iterable[bytes | None]:
    if column is None:
        return repeat(None)
    ends = column.offsets[start : stop + 1]
    data = column.data[ends[0] : ends[-1]].tobytes()
    values: list[bytes | None] = [data[begin:end] for begin, end in pairwise((ends - ends[0]).tolist())]
    if column.nulls and column.validity is not None:
        valid = np.unpackbits(column.validity[start // 8 : stop // 8 + 1], bitorder="little")[start % 8 :][
            : stop - start
        ]
        for row in np.flatnonzero(valid == 0).tolist():
            values[row] = None
    return values


def _headers(columns: RecordColumns, start: int, stop: int) -> Iterable[tuple[Header, ...]]:
    if columns.header_offsets is None or not columns.header_rows:
        return repeat(_NO_HEADERS)
    ends = columns.header_offsets[start : stop + 1].tolist()
    first, last = ends[0], ends[-1]
    keys = [decode_utf8(key or b"") for key in _values(columns.header_key, first, last)]
    headers = list(map(Header, keys, _values(columns.header_value, first, last)))
    return [tuple(headers[begin - first : end - first]) for begin, end in pairwise(ends)]
