"""The configs of individual groups, in Octavo's own file or in a Kafka cluster's metadata, and what they change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from octavo.config import BrokerConfig
from octavo.config.groups import GROUP_CONFIGS
from octavo.config.table import unknown
from octavo.errors import ConfigError
from octavo.format.names import GROUP_STORE
from octavo.storage.directory.shared_values import SharedValues, Values, without_empty
from octavo.storage.files.shared_file import SharedFile
from octavo.storage.log_manager import LogManager

_Limits = tuple[int, int]  # the lowest and the highest value that is allowed

# Kafka's default limits; the broker configs that would change them do not exist here.
_OF_OTHERS: Mapping[str, _Limits] = {
    "share.session.timeout.ms": (45_000, 60_000),
    "share.heartbeat.interval.ms": (5_000, 15_000),
    "share.record.lock.duration.ms": (15_000, 60_000),
    "share.delivery.count.limit": (2, 10),
    "share.partition.max.record.locks": (100, 4_000),
    "share.assignment.interval.ms": (0, 15_000),
    "streams.session.timeout.ms": (45_000, 60_000),
    "streams.heartbeat.interval.ms": (5_000, 15_000),
    "streams.num.standby.replicas": (0, 2),
    "streams.assignment.interval.ms": (0, 15_000),
}


class GroupConfigs(SharedValues[Values[str, str]]):
    """What is set for a group takes effect at once, and overrides the broker's configs."""

    def __init__(self, log_manager: LogManager) -> None:
        super().__init__(log_manager.roots, _FILE, lambda _: _known(log_manager.metadata_groups))
        self._log_manager = log_manager

    def broker_config(self, group_id: str) -> BrokerConfig:
        """The broker's configs as they are now, for a group."""
        config, own = self._log_manager.broker_config, self.values.get(group_id)
        return config if own is None else of_group(own, config)

    def alter(self, group_id: str, changes: Mapping[str, str | None], *, dry_run: bool = False) -> None:
        """Set configs of a group; None removes one. Raises ConfigError for one that the broker does not allow."""

        def change(groups: Values[str, str]) -> Values[str, str]:
            merged = {**groups.get(group_id, {}), **changes}
            own = {name: value for name, value in merged.items() if value is not None}
            _check(own, self._log_manager.broker_config)
            return without_empty({**groups, group_id: own})

        self.change(change, dry_run=dry_run)


def _check(own: Mapping[str, str], broker: BrokerConfig) -> None:
    """Raise ConfigError unless all of them are group configs, with values that the broker allows."""
    limits = {**_OF_OTHERS, **_of_consumers(broker)}
    for name, given in own.items():
        if name not in GROUP_CONFIGS:
            raise unknown("group config", name, GROUP_CONFIGS, f"expected one of {', '.join(GROUP_CONFIGS)}")
        value = GROUP_CONFIGS[name].parse(given)
        if name in limits and not limits[name][0] <= cast(int, value) <= limits[name][1]:
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
        "consumer.session.timeout.ms": (
            broker.group_consumer_min_session_timeout_ms,
            broker.group_consumer_max_session_timeout_ms,
        ),
        "consumer.heartbeat.interval.ms": (
            broker.group_consumer_min_heartbeat_interval_ms,
            broker.group_consumer_max_heartbeat_interval_ms,
        ),
        "consumer.assignment.interval.ms": (
            broker.group_consumer_min_assignment_interval_ms,
            broker.group_consumer_max_assignment_interval_ms,
        ),
    }


def _known(groups: Values[str, str]) -> Values[str, str]:
    """Leave out configs that are unknown here, such as those of newer brokers."""
    return without_empty(
        {group_id: {name: own[name] for name in own if name in GROUP_CONFIGS} for group_id, own in groups.items()}
    )


def _to_fields(groups: Values[str, str]) -> dict[str, Any]:
    return {"groups": {group_id: dict(sorted(own.items())) for group_id, own in sorted(groups.items())}}


def _of_fields(fields: dict[str, Any]) -> Values[str, str]:
    groups = _known(fields["groups"])
    for own in groups.values():
        for name, value in own.items():
            try:
                GROUP_CONFIGS[name].parse(value)
            except ConfigError as error:
                raise ValueError(str(error)) from None
    return groups


_FILE = SharedFile(GROUP_STORE, _to_fields, _of_fields)
