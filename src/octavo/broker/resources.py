"""The kinds of resources that have configs, with the protocol's numbers, and the rows that describe their configs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from itertools import dropwhile

from octavo.broker.context import Context
from octavo.config.dynamic import DYNAMIC, MIN_INSYNC_REPLICAS
from octavo.config.groups import GROUP_CONFIGS
from octavo.config.key import ConfigKey
from octavo.config.kinds import PASSWORD, ConfigValue, Given, as_text
from octavo.config.resolved import LogConfig
from octavo.config.table import BROKER_CONFIGS, SYNONYMS, TOPIC_CONFIGS
from octavo.format.java.text import double_text
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
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_GROUP = 8


_NODE_ID = "node.id"
_TYPES = {"BOOLEAN": 1, "STRING": 2, "INT": 3, "LONG": 5, "DOUBLE": 6, "LIST": 7, "PASSWORD": 9}
_KEYS = {**BROKER_CONFIGS, **{name: key.of_synonym(synonym) for name, (key, synonym) in SYNONYMS.items()}}


def _text(value: ConfigValue) -> str:
    return double_text(value) if isinstance(value, float) else as_text(value)


_DEFAULTS = {name: _text(key.default) for name, key in _KEYS.items() if key.default is not None}
_SYNONYMS = {name: tuple(one.name for one in key.synonyms) for name, (key, _) in SYNONYMS.items()}


def topic_configs(overrides: Mapping[str, Given], context: Context) -> Iterator[Row]:
    """A topic's effective configs, each with the values that could have applied, the effective one first."""
    shown = {name: value for name, value in overrides.items() if not TOPIC_CONFIGS[name].internal}
    effective = LogConfig.of(shown, context.log_dir.broker_properties)
    for name, key in TOPIC_CONFIGS.items():
        if key.internal:
            continue
        synonyms = [_value(name, overrides[name], ConfigSource.TOPIC)] if name in overrides else []
        if key.synonyms:
            synonyms += _values(key.synonyms[0].name, context)
        value = getattr(effective, key.attribute)
        yield _row(key, None if value is None else _text(value), synonyms)


def group_configs(group_id: str, context: Context) -> Iterator[Row]:
    """A group's configs. Their defaults are the values of broker configs, or fixed if no broker config applies."""
    own = context.groups.configs.values.get(group_id, {})
    for name, key in GROUP_CONFIGS.items():
        default = key.synonyms[0].name if key.synonyms else name
        synonyms = _values(default, context) or [_value(default, _text(key.default), ConfigSource.DEFAULT)]
        if name in own:
            synonyms = [_value(name, _text(key.parse(own[name])), ConfigSource.DYNAMIC_GROUP), *synonyms]
        yield _row(key, synonyms[0]["value"], synonyms)


def broker_configs(context: Context) -> Iterator[Row]:
    """The broker's effective configs."""
    sources = context.log_dir.broker_sources
    for name, key in sorted(_KEYS.items()):
        if key.internal and name not in sources.given:
            continue
        synonyms = _values(name, context)
        if key.kind is PASSWORD:
            synonyms = [{**synonym, "value": None} for synonym in synonyms]
        value = synonyms[0]["value"] if synonyms else None
        if name == _NODE_ID:  # it may come from the directories
            value = str(context.node_id)
        elif value is not None:
            value = _text(key.parse(value))
        yield {**_row(key, value, synonyms), "readOnly": name not in DYNAMIC}
    yield from (_unknown(name, ConfigSource.DYNAMIC_BROKER) for name in sorted(sources.of_broker) if name not in _KEYS)


def cluster_configs(context: Context) -> Iterator[Row]:
    """The configs that were set for all brokers of the cluster."""
    for name, value in cluster_values(context).items():
        key = _KEYS.get(name)
        if key is None:
            yield _unknown(name, ConfigSource.DYNAMIC_DEFAULT_BROKER)
            continue
        synonyms = [_value(name, value, ConfigSource.DYNAMIC_DEFAULT_BROKER)]
        yield {**_row(key, value, synonyms), "readOnly": name not in DYNAMIC}


def cluster_values(context: Context) -> dict[str, str]:
    """What was set for the cluster, and min.insync.replicas, which a Kafka controller sets when it first starts."""
    sources = context.log_dir.broker_sources
    given = sources.given.get(MIN_INSYNC_REPLICAS, _DEFAULTS[MIN_INSYNC_REPLICAS])
    return {MIN_INSYNC_REPLICAS: as_text(given), **sources.of_cluster}


def _row(key: ConfigKey, value: str | None, synonyms: list[Row]) -> Row:
    return {
        "name": key.name,
        "value": value,
        "configSource": synonyms[0]["source"] if synonyms else ConfigSource.DEFAULT,
        "synonyms": synonyms,
        "isSensitive": key.kind is PASSWORD,
        "configType": _TYPES[key.kind.name],
        "documentation": key.doc,
    }


def _unknown(name: str, source: ConfigSource) -> Row:
    """A config that Octavo does not have; as Kafka does with configs of unknown type, it is treated as a secret."""
    synonyms = [{"name": name, "value": None, "source": source}]
    return {"name": name, "value": None, "configSource": source, "synonyms": synonyms, "isSensitive": True,
            "readOnly": True, "configType": 0, "documentation": None}  # fmt: skip


def _values(name: str, context: Context) -> list[Row]:
    """The values of a broker config and its synonyms, those that override others first.

    As in Kafka, synonyms' values that come before the first value of the config itself are left out.
    """
    sources: dict[ConfigSource, Mapping[str, Given]] = {
        ConfigSource.DYNAMIC_BROKER: context.log_dir.broker_sources.of_broker,
        ConfigSource.DYNAMIC_DEFAULT_BROKER: cluster_values(context),
        ConfigSource.STATIC_BROKER: context.log_dir.broker_sources.given,
        ConfigSource.DEFAULT: _DEFAULTS,
    }
    rows = [
        _value(synonym, values[synonym], source)
        for source, values in sources.items()
        for synonym in _SYNONYMS.get(name, (name,))
        if synonym in values
    ]
    return list(dropwhile(lambda row: row["name"] != name, rows))


def _value(name: str, given: Given, source: ConfigSource) -> Row:
    return {"name": name, "value": as_text(given), "source": source}
