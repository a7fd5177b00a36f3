"""The configs of a consumer: Kafka's names, types, ranges and defaults, except those whose docs say otherwise."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

from octavo.config import ConfigKey, ConfigValue, Given
from octavo.config.key import config, keys_of
from octavo.config.kinds import BOOLEAN, INT, LIST, LONG, STRING
from octavo.config.ranges import BY_DURATION, DURATION, Between, OneOf
from octavo.config.table import parse_client
from octavo.errors import ConfigError, NoOffsetForPartitionError
from octavo.format.names import TopicPartition
from octavo.format.record import SpecialTimestamp
from octavo.storage.log.read import Isolation
from octavo.storage.partition_log import PartitionLog

ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
_UNITS_MS = (86_400_000, 3_600_000, 60_000)


class OffsetReset(NamedTuple):
    """auto.offset.reset: where to begin without an offset. `kind` is earliest, latest, none or by_duration."""

    kind: str
    duration_ms: int = 0

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse a config's text; None if it is invalid."""
        if text in ("earliest", "latest", "none"):
            return cls(text)
        if not text.startswith(BY_DURATION):
            return None
        found = DURATION.fullmatch(text[len(BY_DURATION) :])
        if found is None:
            return None
        *whole, seconds = found.groups()
        duration_ms = sum(int(count or 0) * unit for count, unit in zip(whole, _UNITS_MS, strict=True))
        return cls("by_duration", duration_ms + int(float((seconds or "0").replace(",", ".")) * 1000))

    def offset(
        self, topic_partition: TopicPartition, log: PartitionLog, isolation: Isolation, now_ms: int
    ) -> int | None:
        """The offset to begin at; None if no record is recent enough yet. Raises NoOffsetForPartitionError for
        `none`."""
        match self.kind:
            case "earliest":
                return log.log_start_offset
            case "latest":
                return log.offset_for_timestamp(SpecialTimestamp.LATEST, isolation).offset
            case "by_duration":
                found = log.offset_for_timestamp(max(now_ms - self.duration_ms, 0), isolation).offset
                return None if found < 0 else found
        raise NoOffsetForPartitionError(f"{topic_partition}: no committed offset, and auto.offset.reset is none")


@dataclass(frozen=True)
class ResetRange:
    """The values of auto.offset.reset."""

    def __contains__(self, value: ConfigValue) -> bool:
        return isinstance(value, str) and OffsetReset.parse(value) is not None

    def __str__(self) -> str:
        return "earliest, latest, none or by_duration:<ISO-8601 duration>"


@dataclass(frozen=True)
class AssignorRange:
    """Assignors by short name or by Kafka's class name; the first in the list is used."""

    def __contains__(self, value: ConfigValue) -> bool:
        return isinstance(value, tuple) and bool(value) and all(_assignor(name) in ASSIGNORS for name in value)

    def __str__(self) -> str:
        return f"some of {', '.join(ASSIGNORS)}"


def _assignor(name: str) -> str:
    """The short name of an assignor that may be given as a Java class."""
    found = re.fullmatch(r"(?:class )?(?:[\w.]+\.)?(\w+)Assignor", name)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", found[1]).lower().replace("round-robin", "roundrobin") if found else name


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsumerConfig:
    """Each field is a config, named with underscores instead of dots. Network configs have no effect."""

    group_id: str | None = config(
        STRING, None,
        doc="The group whose members share the partitions of their topics, and whose offsets are committed.",
    )  # fmt: skip
    auto_offset_reset: str = config(
        STRING, "earliest", ResetRange(),
        doc="Where to begin without a committed offset, or with one that the log does not have. Kafka's default is "
        "latest; here no other process appends, so a consumer that begins at the end may find nothing.",
    )  # fmt: skip
    isolation_level: str = config(
        STRING, "read_uncommitted", OneOf(("read_uncommitted", "read_committed")),
        doc="Whether records of open and aborted transactions are read.",
    )  # fmt: skip
    enable_auto_commit: bool = config(
        BOOLEAN, True,
        doc="Whether positions are committed periodically, and when partitions are given up or the consumer is closed.",
    )  # fmt: skip
    auto_commit_interval_ms: int = config(INT, 5000, Between(0), doc="How often offsets are committed automatically.")
    consumer_timeout_ms: int = config(
        LONG, 0, Between(-1),
        doc="How long a loop over the consumer waits for another record before it ends; -1: forever. A config from "
        "kafka-python, whose default is forever.",
    )  # fmt: skip
    max_poll_records: int = config(INT, 500, Between(1), doc="The most records that one poll returns.")
    max_poll_interval_ms: int = config(
        INT, 300_000, Between(1), doc="A member of a group that has not polled for this long loses its partitions."
    )
    max_partition_fetch_bytes: int = config(
        INT, 1048576, Between(0),
        doc="How many bytes of a partition are read at a time; the first batch is always read whole.",
    )  # fmt: skip
    fetch_max_bytes: int = config(INT, 52428800, Between(0), doc="The most bytes that one fetch returns. No effect.")
    fetch_min_bytes: int = config(INT, 1, Between(0), doc="The fewest bytes that one fetch returns. No effect.")
    fetch_max_wait_ms: int = config(INT, 500, Between(0), doc="How long to wait for fetch.min.bytes. No effect.")
    check_crcs: bool = config(BOOLEAN, True, doc="Whether the checksums of batches are checked.")
    partition_assignment_strategy: tuple[str, ...] = config(
        LIST, ("range", "cooperative-sticky"), AssignorRange(),
        doc="How the members of a group share partitions; the first assignor is used.",
    )  # fmt: skip
    group_instance_id: str | None = config(STRING, None, doc="A name of the member that survives restarts. No effect.")
    session_timeout_ms: int = config(
        INT, 45_000, Between(1), doc="How long a member may go without a heartbeat. No effect."
    )
    heartbeat_interval_ms: int = config(INT, 3000, Between(1), doc="How often heartbeats are sent. No effect.")
    allow_auto_create_topics: bool = config(BOOLEAN, True, doc="No effect: reading does not create topics.")
    exclude_internal_topics: bool = config(BOOLEAN, True, doc="Whether a pattern skips Kafka's internal topics.")
    client_id: str = config(STRING, "", doc="The name of the client. No effect.")

    def __post_init__(self) -> None:
        if self.group_id == "":
            raise ConfigError("group.id is empty: give a name, or no group.id")

    @classmethod
    def of(cls, configs: Mapping[str, Given] | None = None, **named: Given | None) -> Self:
        """The defaults, overridden by `configs` (Kafka's names), then by `named` (underscores instead of dots)."""
        return cls(**parse_client("consumer config", CONSUMER_CONFIGS, configs, named))

    @property
    def reset(self) -> OffsetReset:
        reset = OffsetReset.parse(self.auto_offset_reset)
        assert reset is not None, "the config was checked"
        return reset

    @property
    def isolation(self) -> Isolation:
        return Isolation(self.isolation_level)

    @property
    def assignor(self) -> str:
        return _assignor(self.partition_assignment_strategy[0])


CONSUMER_CONFIGS: Mapping[str, ConfigKey] = keys_of(ConsumerConfig)
