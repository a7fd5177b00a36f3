"""`LogConfig` and `BrokerConfig`: the effective configs, from defaults, the broker's settings and the topic's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

from octavo.config.broker import BrokerTable
from octavo.config.kinds import Given
from octavo.config.table import parse_broker, parse_topic
from octavo.config.topic import TopicTable
from octavo.errors import ConfigError

_NONE: Mapping[str, Given] = MappingProxyType({})
_LEAST_DEDUPE_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class LogConfig(TopicTable):
    """The configs of one topic's logs; attributes are Kafka's names with underscores instead of dots.

    `segment_bytes` is the effective size: internal.segment.bytes, if given, replaces it.
    """

    def __post_init__(self) -> None:
        if self.min_compaction_lag_ms > self.max_compaction_lag_ms:
            raise ConfigError(
                f"min.compaction.lag.ms is {self.min_compaction_lag_ms}, expected at most max.compaction.lag.ms, "
                f"which is {self.max_compaction_lag_ms}"
            )

    @classmethod
    def of(cls, overrides: Mapping[str, Given] = _NONE, broker: Mapping[str, Given] = _NONE) -> Self:
        """The defaults, overridden by the broker's synonyms, then by the topic's own; ConfigError for an unknown name
        or an invalid value."""
        values: dict[str, Any] = {**parse_broker(broker)[0], **parse_topic(overrides)}
        if values.get("internal_segment_bytes") is not None:
            values["segment_bytes"] = values["internal_segment_bytes"]
        return cls(**values)


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokerConfig(BrokerTable):
    """The configs of a directory's owner; attributes are Kafka's names with underscores instead of dots."""

    def __post_init__(self) -> None:
        if self.log_cleaner_dedupe_buffer_size // self.log_cleaner_threads <= _LEAST_DEDUPE_BYTES:
            raise ConfigError(
                f"log.cleaner.dedupe.buffer.size is {self.log_cleaner_dedupe_buffer_size} with log.cleaner.threads="
                f"{self.log_cleaner_threads}, expected more than {_LEAST_DEDUPE_BYTES} bytes for each thread"
            )

    @classmethod
    def of(cls, properties: Mapping[str, Given] = _NONE) -> Self:
        """The defaults, overridden by `properties`; synonyms of topic configs among these are only checked."""
        values: dict[str, Any] = parse_broker(properties)[1]
        return cls(**values)
