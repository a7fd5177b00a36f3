"""Keys, values and header values as strings instead of bytes, for readers that would have to cast them."""

from __future__ import annotations

import pyarrow as pa

from octavo.format.java.utf8 import decode_utf8

_HEADER = pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.string())])
_TYPES = {
    "key": pa.string(),
    "value": pa.string(),
    "headers": pa.list_(pa.field("item", _HEADER, nullable=False)),
}


def text_schema(schema: pa.Schema) -> pa.Schema:
    """The same columns, with strings where there are bytes."""
    return pa.schema([field.with_type(_TYPES.get(field.name, field.type)) for field in schema])


def as_text(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A record batch with strings. As in Java, U+FFFD replaces what is not UTF-8."""
    columns = [_column(array, field.type) for array, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _column(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if array.type == kind:
        return array
    try:
        return array.cast(kind)
    except pa.ArrowInvalid:  # not UTF-8
        return pa.array([_decoded(value) for value in array.to_pylist()], kind)


def _decoded(value: object) -> object:
    if isinstance(value, bytes):
        return decode_utf8(value)
    if isinstance(value, list):
        return [{"key": header["key"], "value": _decoded(header["value"])} for header in value]
    return value
