"""The broker configs that classic groups follow."""

from __future__ import annotations

from typing import NamedTuple

from octavo.config import BrokerConfig

NEW_MEMBER_TIMEOUT_MS = 5 * 60_000  # how long a new member may wait for its first rebalance


class ClassicConfig(NamedTuple):
    """Configs by what they limit."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2**31 - 1

    @classmethod
    def of(cls, config: BrokerConfig) -> ClassicConfig:
        return cls(
            config.group_min_session_timeout_ms,
            config.group_max_session_timeout_ms,
            config.group_initial_rebalance_delay_ms,
            config.group_max_size,
        )
