"""The kinds of resources that have configs, with the protocol's numbers, and the rows that describe their configs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum

from octavo.broker.context import Context
from octavo.config.key import ConfigKey, Synonym
from octavo.config.kinds import PASSWORD, Given, as_text
from octavo.config.table import BROKER_CONFIGS, SYNONYMS, TOPIC_CONFIGS
from octavo.format.messages.schema import Row


class ConfigResource(IntEnum):
    """The types of resources that have configs."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    """Where a value comes from."""

    TOPIC = 1
    STATIC_BROKER = 4
    DEFAULT = 5


_UNNAMED = "log.roll.hours", "log.roll.jitter.hours"
_TYPES = {"BOOLEAN": 1, "STRING": 2, "INT": 3, "LONG": 5, "DOUBLE": 6, "LIST": 7, "PASSWORD": 9}


def topic_configs(topic: str, context: Context) -> Iterator[Row]:
    """A topic's effective configs, each with the values it would have otherwise."""
    return shown_topic_configs(context.logs.topic_overrides(topic), context)


def shown_topic_configs(overrides: Mapping[str, Given], context: Context) -> Iterator[Row]:
    broker = context.logs.broker_properties
    for name, key in TOPIC_CONFIGS.items():
        if key.internal:
            continue
        synonyms = [_value(name, overrides[name], ConfigSource.TOPIC)] if name in overrides else []
        synonyms += [
            _value(synonym.name, broker[synonym.name], ConfigSource.STATIC_BROKER)
            for synonym in key.synonyms
            if synonym.name in broker
        ]
        synonyms += _default(key)
        source = synonyms[0]["source"] if synonyms else ConfigSource.DEFAULT
        if source == ConfigSource.TOPIC:
            value = synonyms[0]["value"]
        elif source == ConfigSource.STATIC_BROKER:
            value = _converted(key, synonyms[0])
        else:
            value = None if key.default is None else as_text(key.default)
        yield _row(key, value, source, synonyms)


def broker_configs(context: Context) -> Iterator[Row]:
    """The broker's effective configs; none of them can be changed while it runs."""
    given = context.logs.broker_properties
    keys = {**BROKER_CONFIGS, **{name: key.of_synonym(synonym) for name, (key, synonym) in SYNONYMS.items()}}
    for name, key in sorted(keys.items()):
        if key.internal:
            continue
        synonyms = [_value(name, given[name], ConfigSource.STATIC_BROKER)] if name in given else []
        if key.default is not None:
            synonyms.append(_value(name, as_text(key.default), ConfigSource.DEFAULT))
        if key.kind is PASSWORD:
            synonyms = [{**synonym, "value": None} for synonym in synonyms]
        value, source = (synonyms[0]["value"], synonyms[0]["source"]) if synonyms else (None, ConfigSource.DEFAULT)
        yield {**_row(key, value, source, synonyms), "readOnly": True}


def _row(key: ConfigKey, value: str | None, source: int, synonyms: list[Row]) -> Row:
    return {
        "name": key.name,
        "value": value,
        "configSource": source,
        "synonyms": synonyms,
        "isSensitive": key.kind is PASSWORD,
        "configType": _TYPES[key.kind.name],
        "documentation": key.doc,
    }


def _value(name: str, given: Given | None, source: ConfigSource) -> Row:
    return {"name": name, "value": None if given is None else as_text(given), "source": source}


def _default(key: ConfigKey) -> list[Row]:
    """The broker config that provides the default, if Kafka 4.3.1 names one: not if it has a meaning of its own."""
    last = key.synonyms[-1] if key.synonyms else None
    if last is None or last.name in BROKER_CONFIGS or last.name in _UNNAMED:
        return []
    default = key.of_synonym(last).default
    return [] if default is None else [_value(last.name, as_text(default), ConfigSource.DEFAULT)]


def _converted(key: ConfigKey, row: Row) -> str:
    synonym: Synonym = next(one for one in key.synonyms if one.name == row["name"])
    return as_text(synonym.convert(key.of_synonym(synonym).parse(row["value"])))
