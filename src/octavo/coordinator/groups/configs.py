"""The configs of individual groups, in Octavo's own file or in a Kafka cluster's metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from octavo.config import BrokerConfig
from octavo.config.groups import GROUP_CONFIGS
from octavo.coordinator.groups.config_rules import check, of_group
from octavo.errors import ConfigError
from octavo.format.names import GROUP_STORE
from octavo.storage.directory.shared_values import SharedValues, Values, without_empty
from octavo.storage.files.shared_file import SharedFile
from octavo.storage.log_manager import LogManager


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
            check(own, self._log_manager.broker_config)
            return without_empty({**groups, group_id: own})

        self.change(change, dry_run=dry_run)


def _known(groups: Values[str, str]) -> Values[str, str]:
    """Leave out configs that only newer brokers have."""
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
