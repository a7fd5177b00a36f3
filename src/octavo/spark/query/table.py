"""Tables of SQL: `CREATE TABLE … USING octavo OPTIONS (…)`.

Spark shows a table's options to a Python data source only when the table is created and its schema asked for; a query
gets the schema alone. So the schema carries the options, in the metadata of its first column.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql.types import StructField, StructType

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

_OPTIONS = "octavo.options"
_OPTION = "option."  # Spark repeats the options of a table under this prefix, beside the table's properties


def table_schema(schema: StructType, options: Mapping[str, str]) -> StructType:
    """The schema of a table that is being created with these options; for other queries the schema as it is."""
    if "provider" not in options:
        return schema
    given = {name: text for name, text in options.items() if name == "path" or f"{_OPTION}{name}" in options}
    first = schema.fields[0]
    kind: DataType = first.dataType
    return StructType([StructField(first.name, kind, first.nullable, {_OPTIONS: given}), *schema.fields[1:]])


def options_with(schema: StructType, options: Mapping[str, str]) -> dict[str, str]:
    """A query's own options, and those of its table."""
    of_table = [field.metadata[_OPTIONS] for field in schema.fields if _OPTIONS in (field.metadata or {})]
    return {**(of_table[0] if of_table else {}), **options}
