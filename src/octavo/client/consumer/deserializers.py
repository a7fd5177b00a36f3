"""Turns the keys and values of records into a program's own objects, if requested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from octavo.scanner.reading.records import ConsumerRecord

Deserializer = Callable[[bytes], Any]


def deserializing(key: Deserializer | None, value: Deserializer | None) -> Callable[[Any], ConsumerRecord] | None:
    """A function that applies these to a record; None if there is nothing to do. Null stays None."""
    if key is None and value is None:
        return None

    def deserialize(record: ConsumerRecord) -> ConsumerRecord:
        return record._replace(
            key=record.key if key is None or record.key is None else key(record.key),
            value=record.value if value is None or record.value is None else value(record.value),
        )

    return deserialize
