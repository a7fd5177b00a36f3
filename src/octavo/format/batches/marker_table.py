"""The markers in a walk's control batches as a table, to follow many transactions at once."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.errors import CorruptionError, InvalidRecordError
from octavo.format.batches.control import (
    KEY_FIELDS,
    MARKER_VALUE_FIELDS,
    MARKERS,
    ControlType,
    control_type_id,
    decode_control,
)
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.row_columns import to_records
from octavo.kernels.columns import BinaryColumn, RecordColumns
from octavo.kernels.layout import CONTROL, NO_PRODUCER_ID, Column
from octavo.kernels.producers import MARKER, NONE

if TYPE_CHECKING:
    from typing_extensions import Buffer

_COLUMNS = Column.TIMESTAMP | Column.KEY | Column.VALUE
_KEY, _VALUE = (
    np.dtype([(name, f">i{struct.calcsize('>' + form)}") for name, form in fields.items()])
    for fields in (KEY_FIELDS, MARKER_VALUE_FIELDS)
)
# Plain integers: while numpy inspects an enum member, it drops a KeyboardInterrupt.
_ABORT, _COMMIT, _UNKNOWN = int(ControlType.ABORT), int(ControlType.COMMIT), int(ControlType.UNKNOWN)
EMPTIED = _UNKNOWN - 1


class MarkerTable(NamedTuple):
    """A row of `MARKER` for each control batch with a producer id among the first `rows` of a walk's table.

    If that is not the whole table, the batch after those rows is damaged.
    """

    markers: NDArray[np.void]
    rows: int
    damage: CorruptionError | None


def decode_markers(data: Buffer, table: NDArray[np.void]) -> MarkerTable:
    """The markers of a walk's control batches, up to the first damaged one. A batch emptied by compaction has type
    -1."""
    places = np.flatnonzero(table["attributes"] & CONTROL)
    places = places[table["producer_id"][places] > NO_PRODUCER_ID] if len(places) else places
    if not len(places):
        return MarkerTable(np.empty(0, MARKER), len(table), None)
    markers, damage = _decode(data, table[places])
    rows = len(table) if damage is None else int(places[len(markers)])
    return MarkerTable(markers, rows, damage)


def _decode(data: Buffer, table: NDArray[np.void]) -> tuple[NDArray[np.void], CorruptionError | None]:
    """The markers of the control batches before the first damaged one, and what is wrong with that one."""
    markers = np.zeros(len(table), MARKER)
    markers["producer_id"], markers["offset"], markers["type"] = table["producer_id"], table["base_offset"], NONE
    is_sound = np.ones(len(table), bool)
    readable, damage, done = len(table), None, 0
    try:
        for filled, columns, records in _first_records(data, table, _COLUMNS):
            keys, values = _heads(columns.key, records, _KEY), _heads(columns.value, records, _VALUE)
            markers["type"][filled], markers["coordinator_epoch"][filled] = keys["type"], values["coordinatorEpoch"]
            markers["timestamp"][filled] = columns.timestamp[records]
            is_marker = (keys["type"] == _ABORT) | (keys["type"] == _COMMIT)
            is_sound[filled] = (keys["version"] >= 0) & (values["version"] >= 0) & is_marker
            done += len(filled)
    except CorruptionError as error:
        readable, damage = int(np.flatnonzero(table["count"])[done]), error
    unsound = np.flatnonzero(~is_sound[:readable])
    if len(unsound):
        readable, damage = int(unsound[0]), _problem_of(data, table[unsound[0]])
    return markers[:readable], damage


def control_types(data: Buffer, table: NDArray[np.void]) -> NDArray[np.int32]:
    """The type in the first record of each control batch; `EMPTIED` if compaction has removed the record.

    These may be KRaft's control batches too; values are not read. Raises CorruptionError for a damaged batch.
    """
    types = np.full(len(table), EMPTIED, np.int32)
    for filled, columns, records in _first_records(data, table, Column.KEY):
        keys = _heads(columns.key, records, _KEY)
        unsound = filled[keys["version"] < 0]
        if len(unsound):
            raise _problem_of(data, table[unsound[0]])
        types[filled] = np.maximum(keys["type"], _UNKNOWN)
    return types


def _first_records(
    data: Buffer, table: NDArray[np.void], columns: Column
) -> Iterator[tuple[NDArray[np.int64], RecordColumns, NDArray[np.int64]]]:
    """Decode control batches: yields rows of the table, the columns, and which of their rows begin these batches.

    The records of all batches follow one another in the columns; Kafka reads only the first one of each.
    """
    rows = np.flatnonzero(table["count"])
    bounds = np.concatenate([[0], np.cumsum(np.maximum(table["count"][rows], 0), dtype=np.int64)])
    seen = done = 0
    for decoded in Decoder(columns).decode(data, table[rows]) if len(rows) else ():
        end = int(np.searchsorted(bounds, seen + decoded.rows))
        yield rows[done:end], decoded, bounds[done:end] - seen
        seen, done = seen + decoded.rows, end


def _heads(column: BinaryColumn | None, rows: NDArray[np.int64], fields: np.dtype[np.void]) -> NDArray[np.void]:
    """The first fields of each value; version -1 means that the value is null or too short."""
    assert column is not None
    heads = np.zeros(len(rows), fields)
    starts, ends = column.offsets[rows], column.offsets[rows + 1]
    whole = ends - starts >= fields.itemsize
    heads["version"] = NONE
    heads[whole] = column.data[starts[whole, None] + np.arange(fields.itemsize)].view(fields)[:, 0]
    return heads


def _problem_of(data: Buffer, batch: np.void) -> CorruptionError:
    """Why a batch with readable records does not begin with a marker."""
    record = to_records(Decoder(_COLUMNS).decode_one(data, batch))[0]
    position = int(batch["position"])
    try:
        type_id = control_type_id(record.key)
        if type_id in MARKERS:
            decode_control(record.key, record.value)
    except InvalidRecordError as error:
        return error.at(position=position)
    sentence = f"a control record of type {type_id} in a producer's batch, expected ABORT or COMMIT"
    return InvalidRecordError(sentence, position=position)
