"""The topic configs: Kafka 4.3.1's names, types, defaults, ranges, broker synonyms, and what each does."""

from __future__ import annotations

from dataclasses import dataclass

from octavo.config.key import Synonym, Unit, config
from octavo.config.kinds import BOOLEAN, DOUBLE, INT, LIST, LONG, MAX_LONG, STRING
from octavo.config.ranges import ANYTHING, AnyOf, Between, NotZero, OneOf, Replicas

DAY_MS = 86_400_000


@dataclass(frozen=True, kw_only=True, slots=True, init=False, repr=False, eq=False)  # `resolved` has the methods
class TopicTable:
    """Each field is a config, named with underscores instead of dots."""

    # Segments
    segment_bytes: int = config(
        INT, 1 << 30, Between(14), "log.segment.bytes",
        doc="The size that a segment's log file may reach. A batch that would pass it goes into a new segment. "
        "Octavo accepts the small values that brokers before 4.0 accepted; today's refuse less than 1048576.",
    )  # fmt: skip
    internal_segment_bytes: int | None = config(
        INT, None, internal=True,
        doc="Overrides segment.bytes, for tests. Today's brokers accept small segments only under this name.",
    )  # fmt: skip
    segment_ms: int = config(
        LONG, 7 * DAY_MS, Between(1), "log.roll.ms", Synonym("log.roll.hours", Unit.HOURS),
        doc="How much later than a segment's first record its other records may be. A later one begins a new segment.",
    )  # fmt: skip
    segment_jitter_ms: int = config(
        LONG, 0, Between(0), "log.roll.jitter.ms", Synonym("log.roll.jitter.hours", Unit.HOURS),
        doc="The most that is randomly subtracted from segment.ms, so that not all segments roll at once.",
    )  # fmt: skip
    segment_index_bytes: int = config(
        INT, 10 << 20, Between(4), "log.index.size.max.bytes",
        doc="The size to which the offset and time indexes of the active segment are preallocated. "
        "A full index rolls the segment.",
    )  # fmt: skip
    index_interval_bytes: int = config(
        INT, 4096, Between(0), "log.index.interval.bytes",
        doc="About how many bytes of log lie between two index entries. "
        "A smaller value makes indexes larger and lookups faster.",
    )  # fmt: skip
    preallocate: bool = config(
        BOOLEAN, False, ANYTHING, "log.preallocate",
        doc="Whether a new segment's log file gets its full size at once.",
    )  # fmt: skip
    file_delete_delay_ms: int = config(
        LONG, 60_000, Between(0), "log.segment.delete.delay.ms",
        doc="How long a file that was renamed to .deleted waits for its removal.",
    )  # fmt: skip

    # Retention
    cleanup_policy: tuple[str, ...] = config(
        LIST, ("delete",), AnyOf(("compact", "delete")), "log.cleanup.policy",
        doc="What becomes of old segments: delete drops them by age and size, compact keeps each key's last record. "
        "Both may be named; an empty list keeps everything.",
    )  # fmt: skip
    retention_ms: int = config(
        LONG, 7 * DAY_MS, Between(-1),
        Synonym("log.retention.ms", valid=NotZero(), least=-1),
        Synonym("log.retention.minutes", Unit.MINUTES, NotZero(), least=-1),
        Synonym("log.retention.hours", Unit.HOURS, NotZero(), least=-1),
        doc="How long a segment is kept after its largest timestamp, if cleanup.policy has delete. -1: forever.",
    )  # fmt: skip
    retention_bytes: int = config(
        LONG, -1, ANYTHING, "log.retention.bytes",
        doc="How many bytes of a partition are kept: its first segments are deleted while at least this many remain, "
        "if cleanup.policy has delete. -1: no limit.",
    )  # fmt: skip
    local_retention_ms: int = config(
        LONG, -2, Between(-2), "log.local.retention.ms",
        doc="With tiered storage, how long a copied segment stays on the local disk. -2: the same as retention.ms. "
        "Octavo has no tiered storage and does not use it.", is_used=False,
    )  # fmt: skip
    local_retention_bytes: int = config(
        LONG, -2, Between(-2), "log.local.retention.bytes",
        doc="With tiered storage, how many bytes stay on the local disk. -2: the same as retention.bytes. "
        "Octavo has no tiered storage and does not use it.", is_used=False,
    )  # fmt: skip

    # Compaction
    min_cleanable_dirty_ratio: float = config(
        DOUBLE, 0.5, Between(0, 1), "log.cleaner.min.cleanable.ratio",
        doc="The part of a log that must be dirty before it is compacted. Higher: fewer rounds, more space.",
    )  # fmt: skip
    min_compaction_lag_ms: int = config(
        LONG, 0, Between(0), "log.cleaner.min.compaction.lag.ms",
        doc="The shortest time that a record stays uncompacted. It must not exceed max.compaction.lag.ms.",
    )  # fmt: skip
    max_compaction_lag_ms: int = config(
        LONG, MAX_LONG, Between(1), "log.cleaner.max.compaction.lag.ms",
        doc="How long a record may stay uncompacted. An older one makes its log due at any dirty ratio, unless it is "
        "in the active segment, which rolls when a record arrives that is this much later than its first.",
    )  # fmt: skip
    delete_retention_ms: int = config(
        LONG, DAY_MS, Between(0), "log.cleaner.delete.retention.ms",
        doc="How long a compacted topic keeps tombstones and transaction markers. "
        "A reader that starts at the beginning has this long to see that a key was deleted.",
    )  # fmt: skip

    # Append
    max_message_bytes: int = config(
        INT, 1_048_588, Between(0), "message.max.bytes",
        doc="The largest batch that is accepted, after compression.",
    )  # fmt: skip
    message_timestamp_type: str = config(
        STRING, "CreateTime", OneOf(("CreateTime", "LogAppendTime")), "log.message.timestamp.type",
        doc="Whether a record's timestamp is the producer's or that of the append.",
    )  # fmt: skip
    message_timestamp_before_max_ms: int = config(
        LONG, MAX_LONG, Between(0), "log.message.timestamp.before.max.ms",
        doc="How far a record's timestamp may be before the clock at the append. Not checked with LogAppendTime.",
    )  # fmt: skip
    message_timestamp_after_max_ms: int = config(
        LONG, 3_600_000, Between(0), "log.message.timestamp.after.max.ms",
        doc="How far a record's timestamp may be after the clock at the append. Not checked with LogAppendTime. "
        "Before 4.0 there was no limit by default.",
    )  # fmt: skip
    compression_type: str = config(
        STRING, "producer", OneOf(("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")), "compression.type",
        doc="The codec of the batches on disk. producer keeps each batch as it arrived; "
        "any other value recompresses the batches that differ.",
    )  # fmt: skip
    compression_gzip_level: int = config(
        INT, -1, Between(1, 9, others=(-1,)), "compression.gzip.level",
        doc="The level if compression.type is gzip. -1: the library's own default.",
    )  # fmt: skip
    compression_lz4_level: int = config(
        INT, 9, Between(1, 17), "compression.lz4.level",
        doc="The level if compression.type is lz4.",
    )  # fmt: skip
    compression_zstd_level: int = config(
        INT, 3, Between(-131_072, 22), "compression.zstd.level",
        doc="The level if compression.type is zstd.",
    )  # fmt: skip

    # Flush
    flush_messages: int = config(
        LONG, MAX_LONG, Between(1), "log.flush.interval.messages",
        doc="After how many records a log is synced to the disk. The default leaves that to the operating system.",
    )  # fmt: skip
    flush_ms: int = config(
        LONG, MAX_LONG, Between(0),
        Synonym("log.flush.interval.ms", valid=ANYTHING), Synonym("log.flush.scheduler.interval.ms", valid=ANYTHING),
        doc="After how long a log is synced to the disk, which is checked every log.flush.scheduler.interval.ms. "
        "The defaults of both leave that to the operating system.",
    )  # fmt: skip

    # Replication and tiered storage: known, so that a topic's configs can be kept, but without effect
    min_insync_replicas: int = config(
        INT, 1, Between(1), "min.insync.replicas",
        doc="How many replicas must have a batch before it is acknowledged with acks=all. "
        "Octavo, the only replica, does not use it.", is_used=False,
    )  # fmt: skip
    unclean_leader_election_enable: bool = config(
        BOOLEAN, False, ANYTHING, "unclean.leader.election.enable",
        doc="Whether a replica that has fallen behind may become the leader, which can lose records. "
        "Octavo does not use it.", is_used=False,
    )  # fmt: skip
    leader_replication_throttled_replicas: tuple[str, ...] = config(
        LIST, (), Replicas(),
        doc="The replicas whose replication is throttled on the leader's side. Octavo does not use it.", is_used=False,
    )  # fmt: skip
    follower_replication_throttled_replicas: tuple[str, ...] = config(
        LIST, (), Replicas(),
        doc="The replicas whose replication is throttled on the follower's side. Octavo does not use it.",
        is_used=False,
    )  # fmt: skip
    remote_storage_enable: bool = config(
        BOOLEAN, False,
        doc="Whether the topic's segments are copied to tiered storage. Octavo has none and does not use it.",
        is_used=False,
    )  # fmt: skip
    remote_log_copy_disable: bool = config(
        BOOLEAN, False,
        doc="Whether a topic with tiered storage stops copying to it. Octavo does not use it.", is_used=False,
    )  # fmt: skip
    remote_log_delete_on_disable: bool = config(
        BOOLEAN, False,
        doc="Whether turning tiered storage off deletes what was copied. Octavo does not use it.", is_used=False,
    )  # fmt: skip
