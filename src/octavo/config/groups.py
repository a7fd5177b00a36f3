"""The configs of groups: those of the broker for the consumer protocol, and those of single groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from octavo.config.key import ConfigKey, config, keys_of
from octavo.config.kinds import BOOLEAN, INT, LIST, MAX_INT, STRING
from octavo.config.ranges import AnyOf, Between, OneOf, ShareReset


@dataclass(frozen=True, kw_only=True, slots=True, init=False, repr=False, eq=False)  # `resolved` has the methods
class ConsumerGroupTable:
    """The broker configs of groups that use the consumer protocol (KIP-848), named with underscores instead of dots."""

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


@dataclass(frozen=True, init=False, repr=False, eq=False)  # a table, never instantiated
class _GroupTable:
    """The configs of single groups. A synonym is the broker config that gives the default."""

    consumer_session_timeout_ms: int = config(
        INT, 45_000, Between(1), "group.consumer.session.timeout.ms",
        doc="How long a member of the group may go without a heartbeat before it is removed.",
    )  # fmt: skip
    consumer_heartbeat_interval_ms: int = config(
        INT, 5_000, Between(1), "group.consumer.heartbeat.interval.ms",
        doc="How often the members of the group are to send heartbeats.",
    )  # fmt: skip
    consumer_assignment_interval_ms: int = config(
        INT, 1_000, Between(0), "group.consumer.assignment.interval.ms",
        doc="The shortest time that the group keeps an assignment.",
    )  # fmt: skip

    # Octavo has no share groups and no streams groups: these are kept, and have no effect.
    share_session_timeout_ms: int = config(
        INT, 45_000, Between(1), "group.share.session.timeout.ms",
        doc="How long a member of a share group may go without a heartbeat before it is removed.",
    )  # fmt: skip
    share_heartbeat_interval_ms: int = config(
        INT, 5_000, Between(1), "group.share.heartbeat.interval.ms",
        doc="How often the members of a share group are to send heartbeats.",
    )  # fmt: skip
    share_record_lock_duration_ms: int = config(
        INT, 30_000, Between(1_000), "group.share.record.lock.duration.ms",
        doc="How long a member of a share group holds a record.",
    )  # fmt: skip
    share_delivery_count_limit: int = config(
        INT, 5, Between(2), "group.share.delivery.count.limit",
        doc="The largest number of times that a share group delivers a record.",
    )  # fmt: skip
    share_partition_max_record_locks: int = config(
        INT, 2_000, Between(100), "group.share.partition.max.record.locks",
        doc="The largest number of records of a partition that a share group holds.",
    )  # fmt: skip
    share_auto_offset_reset: str = config(
        STRING, "latest", ShareReset(),
        doc="Where a share group begins to read a partition.",
    )  # fmt: skip
    share_isolation_level: str = config(
        STRING, "read_uncommitted", OneOf(("read_committed", "read_uncommitted")),
        doc="Whether a share group reads records of aborted transactions.",
    )  # fmt: skip
    share_renew_acknowledge_enable: bool = config(
        BOOLEAN, True,
        doc="Whether the members of a share group can hold a record longer.",
    )  # fmt: skip
    share_assignment_interval_ms: int = config(
        INT, 1_000, Between(0), "group.share.assignment.interval.ms",
        doc="The shortest time that a share group keeps an assignment.",
    )  # fmt: skip
    streams_session_timeout_ms: int = config(
        INT, 45_000, Between(1), "group.streams.session.timeout.ms",
        doc="How long a member of a streams group may go without a heartbeat before it is removed.",
    )  # fmt: skip
    streams_heartbeat_interval_ms: int = config(
        INT, 5_000, Between(1), "group.streams.heartbeat.interval.ms",
        doc="How often the members of a streams group are to send heartbeats.",
    )  # fmt: skip
    streams_num_standby_replicas: int = config(
        INT, 0, Between(0), "group.streams.num.standby.replicas",
        doc="How many replicas of each task a streams group has besides the active one.",
    )  # fmt: skip
    streams_initial_rebalance_delay_ms: int = config(
        INT, 3_000, Between(0), "group.streams.initial.rebalance.delay.ms",
        doc="How long a new streams group waits for more members.",
    )  # fmt: skip
    streams_assignment_interval_ms: int = config(
        INT, 1_000, Between(0), "group.streams.assignment.interval.ms",
        doc="The shortest time that a streams group keeps an assignment.",
    )  # fmt: skip


GROUP_CONFIGS: Mapping[str, ConfigKey] = keys_of(_GroupTable)
