"""SQL tables: `CREATE TABLE … USING octavo OPTIONS (…)`.

Spark passes a table's options to a Python data source only when the table is created and the source has to name its
schema; a query gets the schema alone. So the schema carries the options, in the metadata of its first column.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql.types import StructField, StructType

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

_OPTIONS = "octavo.options"
_COLUMNS = {"key", "value", "topic", "partition", "offset", "timestamp", "timestampType"}
_OPTION = "option."  # Spark repeats the options of a table under this prefix, among the table's properties


def table_schema(schema: StructType, options: Mapping[str, str]) -> StructType:
    """The schema with the options, if a table is being created with them; otherwise the schema unchanged."""
    if "provider" not in options:
        return schema
    given = {name: text for name, text in options.items() if name == "path" or f"{_OPTION}{name}" in options}
    first = schema.fields[0]
    kind: DataType = first.dataType
    return StructType([StructField(first.name, kind, first.nullable, {_OPTIONS: given}), *schema.fields[1:]])


def options_of_table(schema: StructType) -> dict[str, str]:
    """The options of the table that a query reads or writes, for the source and for the sink; empty without a table."""
    of_table = [field.metadata[_OPTIONS] for field in schema.fields if _OPTIONS in (field.metadata or {})]
    return of_table[0] if of_table else {}


def may_be_insert(schema: StructType, own: Mapping[str, str]) -> bool:
    """Whether rows may be inserted into the table whose options the schema carries.

    Rows that were read from a table carry that table's options too, wherever they are written. Such a query has a place
    of its own, or lacks some columns, or its rows have offsets, which the sink refuses; an INSERT that names its
    columns has all of them, and no offsets.
    """
    has_place = any(name.lower() in ("path", "paths") for name in own)
    return not has_place and bool(options_of_table(schema)) and set(schema.names) >= _COLUMNS
