"""The configs of a consumer: Kafka's names, types and ranges, and its defaults but for one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from octavo.client.consumer.offset_reset import OffsetReset
from octavo.config import ConfigKey, Given, Value
from octavo.config.client import parse_client
from octavo.config.key import config, keys_of
from octavo.config.kinds import BOOLEAN, INT, LIST, LONG, STRING
from octavo.config.ranges import Between, OneOf
from octavo.errors import ConfigError
from octavo.storage.log.read import Isolation

ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")


@dataclass(frozen=True)
class ResetRange:
    """What auto.offset.reset may be."""

    def __contains__(self, value: Value) -> bool:
        return isinstance(value, str) and OffsetReset.parse(value) is not None

    def __str__(self) -> str:
        return "earliest, latest, none or by_duration:<ISO-8601 duration>"


@dataclass(frozen=True)
class AssignorRange:
    """The assignors that there are; the first of them that is named counts."""

    def __contains__(self, value: Value) -> bool:
        return isinstance(value, tuple) and bool(value) and all(_assignor(name) in ASSIGNORS for name in value)

    def __str__(self) -> str:
        return f"some of {', '.join(ASSIGNORS)}"


def _assignor(name: str) -> str:
    """The short name of an assignor, which Kafka's clients name by their classes."""
    found = re.fullmatch(r"(?:class )?(?:[\w.]+\.)?(\w+)Assignor", name)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", found[1]).lower().replace("round-robin", "roundrobin") if found else name


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsumerConfig:
    """A field is a config of the same name with dots for underscores. What concerns the network has no effect."""

    group_id: str | None = config(
        STRING, None,
        doc="The group that shares the partitions of its topics, and whose offsets are committed.",
    )  # fmt: skip
    auto_offset_reset: str = config(
        STRING, "earliest", ResetRange(),
        doc="Where to begin without a committed offset, or with one that the log does not have. Kafka's default is "
        "latest; here nobody else writes to the directory meanwhile, so that from the latest on there is nothing.",
    )  # fmt: skip
    isolation_level: str = config(
        STRING, "read_uncommitted", OneOf(("read_uncommitted", "read_committed")),
        doc="Whether records of open and of aborted transactions are read.",
    )  # fmt: skip
    enable_auto_commit: bool = config(
        BOOLEAN, True,
        doc="Whether the offsets of what was handed out are committed now and then, and at the end.",
    )  # fmt: skip
    auto_commit_interval_ms: int = config(INT, 5000, Between(0), doc="How often offsets are committed.")
    consumer_timeout_ms: int = config(
        LONG, 0, Between(-1),
        doc="How long a loop over the consumer waits for another record before it ends; -1: for ever. Not of Kafka "
        "but of kafka-python, where it is for ever by default.",
    )  # fmt: skip
    max_poll_records: int = config(INT, 500, Between(1), doc="How many records a poll returns at most.")
    max_poll_interval_ms: int = config(
        INT, 300_000, Between(1),
        doc="A member of a group that has not polled for so long loses its partitions.",
    )  # fmt: skip
    max_partition_fetch_bytes: int = config(
        INT, 1048576, Between(0),
        doc="How many bytes of a partition are read at a time; the first batch comes whole.",
    )  # fmt: skip
    fetch_max_bytes: int = config(INT, 52428800, Between(0), doc="How many bytes an answer has at most. No effect.")
    fetch_min_bytes: int = config(INT, 1, Between(0), doc="How many bytes are worth an answer. No effect.")
    fetch_max_wait_ms: int = config(INT, 500, Between(0), doc="How long to wait for fetch.min.bytes. No effect.")
    check_crcs: bool = config(BOOLEAN, True, doc="Whether the checksums of batches are checked.")
    partition_assignment_strategy: tuple[str, ...] = config(
        LIST, ("range", "cooperative-sticky"), AssignorRange(),
        doc="How the members of a group share partitions; the first counts.",
    )  # fmt: skip
    group_instance_id: str | None = config(STRING, None, doc="A name of the member that outlives it. No effect.")
    session_timeout_ms: int = config(INT, 45_000, Between(1), doc="How long a heartbeat may be missing. No effect.")
    heartbeat_interval_ms: int = config(INT, 3000, Between(1), doc="How often heartbeats are sent. No effect.")
    allow_auto_create_topics: bool = config(BOOLEAN, True, doc="No effect: topics are not created by reading them.")
    exclude_internal_topics: bool = config(
        BOOLEAN, True,
        doc="Whether a pattern leaves Kafka's own topics out.",
    )  # fmt: skip
    client_id: str = config(STRING, "", doc="A name of the client. No effect.")

    def __post_init__(self) -> None:
        if self.group_id == "":
            raise ConfigError("group.id is '', expected a name or none")

    @classmethod
    def of(cls, configs: Mapping[str, Given] | None = None, **named: Given | None) -> Self:
        """The defaults, over them `configs` by Kafka's names, over them `named` with underscores for dots."""
        return cls(**parse_client("consumer config", CONSUMER_CONFIGS, configs, named))

    @property
    def reset(self) -> OffsetReset:
        reset = OffsetReset.parse(self.auto_offset_reset)
        assert reset is not None, "a config that was checked"
        return reset

    @property
    def isolation(self) -> Isolation:
        return Isolation(self.isolation_level)

    @property
    def assignor(self) -> str:
        return _assignor(self.partition_assignment_strategy[0])


CONSUMER_CONFIGS: Mapping[str, ConfigKey] = keys_of(ConsumerConfig)
