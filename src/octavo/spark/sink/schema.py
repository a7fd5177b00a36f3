"""The columns that the sink writes: those of Spark's Kafka sink, and `timestamp`. Error messages have Spark's words."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    IntegerType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from octavo.errors import ConfigError

_HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
_TYPES: dict[str, tuple[DataType, ...]] = {
    "topic": (StringType(),),
    "key": (StringType(), BinaryType()),
    "value": (StringType(), BinaryType()),
    "headers": (_HEADERS,),
    "partition": (IntegerType(),),
    "timestamp": (DoubleType(), TimestampType()),
}


def check_columns(schema: StructType, topic: str | None) -> tuple[str, ...]:
    """The columns that make up records; others are ignored. The topic column is not needed if the sink has a topic."""
    given = {field.name: field.dataType for field in schema.fields}
    if topic is None and "topic" not in given:
        raise ConfigError(
            "topic option required when no 'topic' attribute is present. Use the topic option for setting a topic."
        )
    if "value" not in given:
        raise ConfigError("Required attribute 'value' not found")
    wanted = tuple(name for name in _TYPES if name in given and (name != "topic" or topic is None))
    for name in wanted:
        found = given[name].simpleString()
        expected = [kind.simpleString() for kind in _TYPES[name]]
        if found not in expected:
            raise ConfigError(f"{name} attribute unsupported type {found}. {name} must be a(n) {' or '.join(expected)}")
    return wanted
