"""The broker configs of groups that use the consumer protocol (KIP-848)."""

from __future__ import annotations

from dataclasses import dataclass

from octavo.config.key import config
from octavo.config.kinds import INT, LIST, MAX_INT, STRING
from octavo.config.ranges import AnyOf, Between, OneOf


@dataclass(frozen=True, kw_only=True, slots=True, init=False, repr=False, eq=False)  # `resolved` has the methods
class ConsumerGroupTable:
    """Each field is a config, named with underscores instead of dots."""

    group_consumer_session_timeout_ms: int = config(
        INT, 45_000, Between(1),
        doc="How long a member of a consumer group may go without a heartbeat before it is removed.",
    )  # fmt: skip
    group_consumer_heartbeat_interval_ms: int = config(
        INT, 5_000, Between(1),
        doc="How often the members of a consumer group are to send heartbeats.",
    )  # fmt: skip
    group_consumer_min_session_timeout_ms: int = config(
        INT, 45_000, Between(1),
        doc="The smallest consumer.session.timeout.ms that a group may have.",
    )  # fmt: skip
    group_consumer_max_session_timeout_ms: int = config(
        INT, 60_000, Between(1),
        doc="The largest consumer.session.timeout.ms that a group may have.",
    )  # fmt: skip
    group_consumer_min_heartbeat_interval_ms: int = config(
        INT, 5_000, Between(1),
        doc="The smallest consumer.heartbeat.interval.ms that a group may have.",
    )  # fmt: skip
    group_consumer_max_heartbeat_interval_ms: int = config(
        INT, 15_000, Between(1),
        doc="The largest consumer.heartbeat.interval.ms that a group may have.",
    )  # fmt: skip
    group_consumer_min_assignment_interval_ms: int = config(
        INT, 0, Between(0),
        doc="The smallest consumer.assignment.interval.ms that a group may have.",
    )  # fmt: skip
    group_consumer_max_assignment_interval_ms: int = config(
        INT, 15_000, Between(0),
        doc="The largest consumer.assignment.interval.ms that a group may have.",
    )  # fmt: skip
    group_consumer_max_size: int = config(
        INT, MAX_INT, Between(1),
        doc="The largest number of members of a consumer group.",
    )  # fmt: skip
    group_consumer_assignors: tuple[str, ...] = config(
        LIST, ("uniform", "range"), AnyOf(("uniform", "range"), 1),
        doc="The assignors that may distribute a consumer group's partitions; the first is the default. "
        "Kafka also accepts class names.",
    )  # fmt: skip
    group_consumer_assignment_interval_ms: int = config(
        INT, 1_000, Between(0),
        doc="The shortest time that a consumer group keeps an assignment. Members in the same process do not wait.",
    )  # fmt: skip
    group_consumer_migration_policy: str = config(
        STRING, "bidirectional", OneOf(("bidirectional", "upgrade", "downgrade", "disabled")),
        doc="Whether groups with members of the classic protocol become consumer groups when a member of the consumer "
        "protocol joins (upgrade), and classic groups again when the last one leaves (downgrade).",
    )  # fmt: skip
    group_consumer_regex_refresh_interval_ms: int = config(
        INT, 600_000, Between(10_000), internal=True,
        doc="How often the topics that match the regular expressions of a consumer group are looked up again.",
    )  # fmt: skip
