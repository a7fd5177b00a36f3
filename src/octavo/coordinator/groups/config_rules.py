"""Which configs a group may have, and what they change for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

from octavo.config import BrokerConfig
from octavo.config.groups import GROUP_CONFIGS
from octavo.config.table import unknown
from octavo.errors import ConfigError


class _Limits(NamedTuple):
    """The lowest and the highest value that is allowed."""

    low: int
    high: int


# Kafka's default limits; the broker configs that would change them do not exist here.
_OF_OTHERS = {
    "share.session.timeout.ms": _Limits(45_000, 60_000),
    "share.heartbeat.interval.ms": _Limits(5_000, 15_000),
    "share.record.lock.duration.ms": _Limits(15_000, 60_000),
    "share.delivery.count.limit": _Limits(2, 10),
    "share.partition.max.record.locks": _Limits(100, 4_000),
    "share.assignment.interval.ms": _Limits(0, 15_000),
    "streams.session.timeout.ms": _Limits(45_000, 60_000),
    "streams.heartbeat.interval.ms": _Limits(5_000, 15_000),
    "streams.num.standby.replicas": _Limits(0, 2),
    "streams.assignment.interval.ms": _Limits(0, 15_000),
}


def check(own: Mapping[str, str], broker: BrokerConfig) -> None:
    """Raise ConfigError for a name that is not a group config, or a value that the broker does not allow."""
    limits = {**_OF_OTHERS, **_of_consumers(broker)}
    for name, given in own.items():
        if name not in GROUP_CONFIGS:
            raise unknown("group config", name, GROUP_CONFIGS, f"expected one of {', '.join(GROUP_CONFIGS)}")
        value = GROUP_CONFIGS[name].parse(given)
        if name in limits and not limits[name].low <= cast(int, value) <= limits[name].high:
            low, high = limits[name]
            raise ConfigError(f"{name} is {value}, but the broker allows only {low} to {high}")
    after = of_group(own, broker)
    if after.group_consumer_session_timeout_ms <= after.group_consumer_heartbeat_interval_ms:
        raise ConfigError("consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms")


def of_group(own: Mapping[str, str], broker: BrokerConfig) -> BrokerConfig:
    """The broker's configs as they apply to a group.

    As in Kafka, a value outside the range that the broker allows now is moved into it.
    """
    values: dict[str, Any] = {}
    for name, (low, high) in _of_consumers(broker).items():
        if name in own:
            key = GROUP_CONFIGS[name]
            values[f"group_{key.attribute}"] = min(max(cast(int, key.parse(own[name])), low), high)
    return replace(broker, **values)


def _of_consumers(broker: BrokerConfig) -> dict[str, _Limits]:
    return {
        "consumer.session.timeout.ms": _Limits(
            broker.group_consumer_min_session_timeout_ms, broker.group_consumer_max_session_timeout_ms
        ),
        "consumer.heartbeat.interval.ms": _Limits(
            broker.group_consumer_min_heartbeat_interval_ms, broker.group_consumer_max_heartbeat_interval_ms
        ),
        "consumer.assignment.interval.ms": _Limits(
            broker.group_consumer_min_assignment_interval_ms, broker.group_consumer_max_assignment_interval_ms
        ),
    }
