"""The columns of a query: the schema of Spark's Kafka source, or a selection of its columns."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from octavo.errors import ConfigError, did_you_mean

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
# In the order of Spark's Kafka source, and nullable as there.
TYPES: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": ArrayType(_HEADER),
}


def schema_of(columns: tuple[str, ...]) -> StructType:
    """The Spark schema of these columns, in their order."""
    return StructType([StructField(name, TYPES[name]) for name in columns])


def columns_of(text: str | None, include_headers: bool) -> tuple[str, ...]:
    """The columns that the option `columns` names; without it, all, but headers only with `include_headers`."""
    if text is None:
        return tuple(name for name in TYPES if include_headers or name != "headers")
    known = {name.lower(): name for name in TYPES}
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name.lower() not in known:
            raise ConfigError(f"columns: '{name}', expected some of {', '.join(TYPES)}{did_you_mean(name, TYPES)}")
    if not names:
        raise ConfigError(f"columns is empty, expected some of {', '.join(TYPES)}")
    return tuple(dict.fromkeys(known[name.lower()] for name in names))


def check_schema(given: StructType, columns: tuple[str, ...]) -> None:
    """Refuse a user's schema, unless it is the source's own."""
    if given.simpleString() != schema_of(columns).simpleString():
        raise ConfigError(
            "Kafka source has a fixed schema and cannot be set with a custom one; the option columns chooses from it"
        )
