"""The broker configs that consumer groups follow."""

from __future__ import annotations

from typing import NamedTuple

from octavo.config import BrokerConfig


class ConsumerGroupConfig(NamedTuple):
    """Configs by what they decide; the first assignor is the default one."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    max_size: int = 2**31 - 1
    assignors: tuple[str, ...] = ("uniform", "range")
    assignment_interval_ms: int = 1_000
    regex_refresh_interval_ms: int = 600_000
    migration_policy: str = "bidirectional"

    @property
    def upgrades(self) -> bool:
        """Whether a classic group with members becomes a consumer group when one of the new protocol joins."""
        return self.migration_policy in ("bidirectional", "upgrade")

    @property
    def downgrades(self) -> bool:
        """Whether a consumer group becomes a classic group when only members of the classic protocol are left."""
        return self.migration_policy in ("bidirectional", "downgrade")

    @classmethod
    def of(cls, config: BrokerConfig) -> ConsumerGroupConfig:
        return cls(
            config.group_consumer_session_timeout_ms,
            config.group_consumer_heartbeat_interval_ms,
            config.group_consumer_max_size,
            config.group_consumer_assignors,
            config.group_consumer_assignment_interval_ms,
            config.group_consumer_regex_refresh_interval_ms,
            config.group_consumer_migration_policy.lower(),
        )
