"""The table of configs: finds them by name and parses their values."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from octavo.config.broker import BrokerTable
from octavo.config.key import ConfigKey, Synonym, keys_of
from octavo.config.kinds import ConfigValue, Given
from octavo.config.topic import TopicTable
from octavo.errors import ConfigError, did_you_mean

TOPIC_CONFIGS: Mapping[str, ConfigKey] = keys_of(TopicTable)
BROKER_CONFIGS: Mapping[str, ConfigKey] = keys_of(BrokerTable)
# Broker synonyms by name, each with the topic config whose default it gives.
SYNONYMS: Mapping[str, tuple[ConfigKey, Synonym]] = MappingProxyType(
    {synonym.name: (key, synonym) for key in TOPIC_CONFIGS.values() for synonym in key.synonyms}
)
OF_LISTENER = "listener.name."  # begins the names of configs for a single listener, which `octavo.broker` checks
REMOVED = {
    f"{broker}message.{name}"
    for broker in ("", "log.")
    for name in ("format.version", "downconversion.enable", "timestamp.difference.max.ms")
}
# Prefixes of the configs by which clients reach a broker and talk to it, including names that only kafka-python or
# librdkafka has.
_OF_A_CONNECTION = (
    "api.version", "bootstrap.", "broker.", "client.dns.", "client.rack", "connections.", "default.api.timeout.ms",
    "metadata.", "receive.buffer.", "reconnect.", "request.timeout.ms", "retry.backoff.", "sasl.", "security.",
    "send.buffer.", "socket.", "ssl.",
)  # fmt: skip
_noted: set[str] = set()
_log = logging.getLogger(__name__)


def find(name: str) -> ConfigKey:
    """The topic or broker config with this name.

    An unknown name raises ConfigError, which names a similar config if there is one.
    """
    key = TOPIC_CONFIGS.get(name) or BROKER_CONFIGS.get(name)
    if key is not None:
        return key
    if name in SYNONYMS:
        key, synonym = SYNONYMS[name]
        return key.of_synonym(synonym)
    raise unknown("config", name, [*TOPIC_CONFIGS, *BROKER_CONFIGS, *SYNONYMS])


def parse_topic(overrides: Mapping[str, Given]) -> dict[str, ConfigValue]:
    """A topic's own configs, by attribute name."""
    values: dict[str, ConfigValue] = {}
    for name, given in overrides.items():
        key = TOPIC_CONFIGS.get(name)
        if key is None:
            raise unknown("topic config", name, TOPIC_CONFIGS)
        values[key.attribute] = key.parse(given)
    return values


def parse_broker(properties: Mapping[str, Given]) -> tuple[dict[str, ConfigValue], dict[str, ConfigValue]]:
    """A broker's configs by attribute name: the defaults they give topics, and the broker's own.

    Every value is checked, even one that an earlier synonym overrides; those for a single listener are left out.
    """
    for name in properties:
        if name not in BROKER_CONFIGS and name not in SYNONYMS and not name.startswith(OF_LISTENER):
            raise unknown("broker config", name, [*BROKER_CONFIGS, *SYNONYMS])
    broker = {key.attribute: key.parse(properties[name]) for name, key in BROKER_CONFIGS.items() if name in properties}
    # In reverse order, so that the first of several synonyms wins.
    topic = {
        key.attribute: synonym.convert(key.of_synonym(synonym).parse(properties[synonym.name]))
        for key in TOPIC_CONFIGS.values()
        for synonym in reversed(key.synonyms)
        if synonym.name in properties
    }
    return topic, broker


def parse_client(
    what: str, keys: Mapping[str, ConfigKey], configs: Mapping[str, Given] | None, named: Mapping[str, Given | None]
) -> dict[str, Any]:
    """A client's configs, by attribute name. `configs` uses Kafka's names; `named` uses underscores, and wins.

    In `named`, None means not given. Configs by which a broker is reached are ignored, with a warning. An unknown name
    raises ConfigError with a similar one or, if there is none, with all known ones.
    """
    given = dict(configs or {})
    given |= {name.replace("_", "."): value for name, value in named.items() if value is not None}
    _drop_what_reaches_a_broker(what, keys, given)
    for name in given:
        if name not in keys:
            raise unknown(what, name, keys, f"expected one of {', '.join(keys)}")
    return {keys[name].attribute: keys[name].parse(value) for name, value in given.items()}


def _drop_what_reaches_a_broker(what: str, keys: Mapping[str, ConfigKey], given: dict[str, Given]) -> None:
    """Drop the configs by which Kafka's clients reach a broker, which a program may keep; warn once about each."""
    ignored = [name for name in given if name not in keys and name.startswith(_OF_A_CONNECTION)]
    for name in ignored:
        del given[name]
    if new := [name for name in ignored if name not in _noted]:
        _noted.update(new)
        _log.warning("%ss ignored: %s; there is no broker, the log directory is used directly", what, ", ".join(new))


def unknown(what: str, name: str, known: Iterable[str], listed: str = "`octavo config` lists them") -> ConfigError:
    """The error for an unknown name, with the name that was probably meant, or where to find all names."""
    if name in REMOVED:
        return ConfigError(f"{name} is not a {what}: Kafka 4.0 removed it")
    if name in SYNONYMS and what == "topic config":
        return ConfigError(f"{name} is a broker config, expected a topic config: {SYNONYMS[name][0].name}")
    return ConfigError(f"{name} is not a {what}{did_you_mean(name, known) or f' ({listed})'}")
