"""The broker configs that Octavo knows, other than those that give topics their defaults."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from octavo.config.groups import ConsumerGroupTable
from octavo.config.key import config
from octavo.config.kinds import BOOLEAN, DOUBLE, INT, LIST, LONG, MAX_INT, MAX_LONG, PASSWORD, STRING
from octavo.config.ranges import Between, Elements, OneOf
from octavo.config.topic import DAY_MS


@dataclass(frozen=True, kw_only=True, slots=True, init=False, repr=False, eq=False)  # `resolved` has the methods
class BrokerTable(ConsumerGroupTable):
    """Each field is a config, named with underscores instead of dots."""

    node_id: int | None = config(
        INT, None, Between(0),
        doc="The broker's id, which new directories get; a directory of another broker is refused. "
        "If it is not set, the directories' own id is used, or 1 for new ones.",
    )  # fmt: skip

    # Directories
    log_dirs: tuple[str, ...] | None = config(
        LIST, None, Elements(1),
        doc="The log directories. If it is not set, log.dir is used. "
        "A LogDir gets them as its first argument and refuses the config.",
    )  # fmt: skip
    log_dir: tuple[str, ...] = config(
        LIST, ("/tmp/kafka-logs",), Elements(1),
        doc="The log directory if log.dirs is not set. A LogDir refuses it, as it refuses log.dirs.",
    )  # fmt: skip
    cordoned_log_dirs: tuple[str, ...] = config(
        LIST, (), Elements(),
        doc="The log directories that get no new partitions, unless a client chooses one for them. * means all; any "
        "other name must be a log directory. If all are cordoned, new partitions go to the first one that is online.",
    )  # fmt: skip
    log_dir_failure_timeout_ms: int = config(
        LONG, 30_000, Between(1),
        doc="How long a broker waits for the controller to learn about a failed directory. "
        "Octavo has no controller and does not use it.", is_used=False,
    )  # fmt: skip
    num_partitions: int = config(
        INT, 1, Between(1),
        doc="How many partitions a topic gets by default.",
    )  # fmt: skip
    num_recovery_threads_per_data_dir: int = config(
        INT, 2, Between(1),
        doc="How many threads load and recover the partitions of one directory. Before 4.0 the default was 1.",
    )  # fmt: skip

    # Background work
    log_initial_task_delay_ms: int = config(
        LONG, 30_000, Between(0), internal=True,
        doc="How long retention, flushes and checkpoints wait after the start before they first run.",
    )  # fmt: skip
    log_retention_check_interval_ms: int = config(
        LONG, 300_000, Between(1),
        doc="How often retention looks for segments to drop.",
    )  # fmt: skip
    log_flush_scheduler_interval_ms: int = config(
        LONG, MAX_LONG,
        doc="How often logs are checked for flush.ms. It is also the default of flush.ms if "
        "log.flush.interval.ms is not set.",
    )  # fmt: skip
    log_flush_offset_checkpoint_interval_ms: int = config(
        INT, 60_000, Between(0),
        doc="How often the recovery points are written to recovery-point-offset-checkpoint.",
    )  # fmt: skip
    log_flush_start_offset_checkpoint_interval_ms: int = config(
        INT, 60_000, Between(0),
        doc="How often the log start offsets are written to log-start-offset-checkpoint.",
    )  # fmt: skip
    replica_high_watermark_checkpoint_interval_ms: int = config(
        LONG, 5_000,
        doc="How often the high watermarks are written to replication-offset-checkpoint.",
    )  # fmt: skip

    # The cleaner
    log_cleaner_enable: bool = config(
        BOOLEAN, True,
        doc="Whether compaction runs in the background. Deprecated since 4.1.",
    )  # fmt: skip
    log_cleaner_threads: int = config(
        INT, 1, Between(1),
        doc="How many threads compact logs. Kafka's range includes 0, but no broker starts with it.",
    )  # fmt: skip
    log_cleaner_io_max_bytes_per_second: float = config(
        DOUBLE, sys.float_info.max,
        doc="How fast all cleaner threads together may read and write.",
    )  # fmt: skip
    log_cleaner_dedupe_buffer_size: int = config(
        LONG, 128 << 20,
        doc="The memory of the offset maps of all cleaner threads together. Each thread needs more than 1 MiB.",
    )  # fmt: skip
    log_cleaner_io_buffer_size: int = config(
        INT, 512 << 10, Between(0),
        doc="The memory of the read and write buffers of all cleaner threads. "
        "Octavo does not use it: its buffers grow with the batches.", is_used=False,
    )  # fmt: skip
    log_cleaner_io_buffer_load_factor: float = config(
        DOUBLE, 0.9,
        doc="How full an offset map may become. Higher: more keys per round, more collisions.",
    )  # fmt: skip
    log_cleaner_backoff_ms: int = config(
        LONG, 15_000, Between(0),
        doc="How long a cleaner thread sleeps when no log is due.",
    )  # fmt: skip

    # The network
    auto_create_topics_enable: bool = config(
        BOOLEAN, True,
        doc="Whether a topic is created when a client first asks for it. Producers in the same process create topics "
        "only if this is set to true explicitly.",
    )  # fmt: skip
    delete_topic_enable: bool = config(
        BOOLEAN, True,
        doc="Whether clients may delete topics.",
    )  # fmt: skip
    fetch_max_bytes: int = config(
        INT, 55 << 20, Between(1024),
        doc="The most bytes that one fetch returns; a first batch that is larger is still returned whole.",
    )  # fmt: skip
    max_incremental_fetch_session_cache_slots: int = config(
        INT, 1000, Between(0),
        doc="The largest number of fetch sessions.",
    )  # fmt: skip
    socket_request_max_bytes: int = config(
        INT, 100 << 20, Between(1),
        doc="How large a request may be. The connection that sends a larger one is closed.",
    )  # fmt: skip
    socket_send_buffer_bytes: int = config(  # Kafka's 100 KiB take a third more CPU here: the loop wakes up too often
        INT, 400 << 10,
        doc="How much of an answer the system holds for a client that is slow to read it; -1: the system decides.",
    )  # fmt: skip
    queued_max_request_bytes: int = config(
        LONG, -1,
        doc="How much memory large incoming requests may take together; -1: 512 MiB. There is always enough for one of "
        "socket.request.max.bytes.",
    )  # fmt: skip
    max_connections: int = config(
        INT, MAX_INT, Between(0),
        doc="The largest number of connections. Further ones are closed at once.",
    )  # fmt: skip
    max_connections_per_ip: int = config(
        INT, MAX_INT, Between(0),
        doc="The largest number of connections from one address.",
    )  # fmt: skip
    connections_max_idle_ms: int = config(
        LONG, 600_000,
        doc="How long a connection on which nothing is received or answered stays open. Negative: forever.",
    )  # fmt: skip

    quota_window_num: int = config(
        INT, 11, Between(1),
        doc="Over how many windows the rate of a client is measured; the last one is not over yet.",
    )  # fmt: skip
    quota_window_size_seconds: int = config(
        INT, 1, Between(1),
        doc="The length of each window over which a client's rate is measured (see quota.window.num).",
    )  # fmt: skip

    # Listeners and security. listener.name.<name>.<config> gives one of these to a single listener.
    listeners: tuple[str, ...] = config(
        LIST, ("PLAINTEXT://:9092",), Elements(1),
        doc="Where to listen, as NAME://host:port. `--listen` and Broker(listen=…) override it.",
    )  # fmt: skip
    advertised_listeners: tuple[str, ...] | None = config(
        LIST, None, Elements(1),
        doc="The addresses that clients are given, as NAME://host:port; by default those of listeners.",
    )  # fmt: skip
    listener_security_protocol_map: str = config(
        STRING, "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        doc="The security protocol of each listener name.",
    )  # fmt: skip
    sasl_enabled_mechanisms: tuple[str, ...] = config(
        LIST, ("GSSAPI",), Elements(),
        doc="How clients log in: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512. Octavo has no GSSAPI and no OAUTHBEARER.",
    )  # fmt: skip
    sasl_server_max_receive_size: int = config(
        INT, 512 << 10,
        doc="How large a request may be before its client has logged in.",
    )  # fmt: skip
    ssl_client_auth: str = config(
        STRING, "none", OneOf(("required", "requested", "none")),
        doc="Whether clients have to show a certificate.",
    )  # fmt: skip
    ssl_keystore_type: str = config(
        STRING, "JKS",
        doc="The format of the keystore. Octavo reads only PEM.",
    )  # fmt: skip
    ssl_keystore_location: str | None = config(
        STRING, None,
        doc="The file with the broker's private key and its certificates.",
    )  # fmt: skip
    ssl_keystore_key: str | None = config(
        PASSWORD, None,
        doc="The broker's private key as PEM, instead of a file.",
    )  # fmt: skip
    ssl_keystore_certificate_chain: str | None = config(
        PASSWORD, None,
        doc="The broker's certificates as PEM, instead of a file.",
    )  # fmt: skip
    ssl_key_password: str | None = config(
        PASSWORD, None,
        doc="The password of an encrypted private key.",
    )  # fmt: skip
    ssl_truststore_type: str = config(
        STRING, "JKS",
        doc="The format of the truststore. Octavo reads only PEM.",
    )  # fmt: skip
    ssl_truststore_location: str | None = config(
        STRING, None,
        doc="The file with the certificates of the authorities that sign clients' certificates.",
    )  # fmt: skip
    ssl_truststore_certificates: str | None = config(
        PASSWORD, None,
        doc="The certificates of the authorities that sign clients' certificates, as PEM, instead of a file.",
    )  # fmt: skip
    authorizer_class_name: str = config(
        STRING, "",
        doc="Whether ACLs are enforced: empty for no, Kafka's StandardAuthorizer for yes.",
    )  # fmt: skip
    super_users: str = config(
        STRING, "", internal=True,
        doc="The principals that may do everything, as User:alice;User:bob.",
    )  # fmt: skip
    allow_everyone_if_no_acl_found: bool = config(
        BOOLEAN, False, internal=True,
        doc="Whether everybody may use a resource that no ACL covers.",
    )  # fmt: skip

    # Producers and transactions
    producer_id_expiration_ms: int = config(
        INT, DAY_MS, Between(1),
        doc="How long a partition remembers a producer after its last batch.",
    )  # fmt: skip
    producer_id_expiration_check_interval_ms: int = config(
        INT, 600_000, Between(1), internal=True,
        doc="How often a partition checks for producers to forget.",
    )  # fmt: skip
    transaction_max_timeout_ms: int = config(
        INT, 900_000, Between(1),
        doc="The longest timeout that a transactional producer may ask for.",
    )  # fmt: skip
    transaction_partition_verification_enable: bool = config(
        BOOLEAN, True,
        doc="Whether a transactional batch of an old client is checked against the coordinator's list of partitions.",
    )  # fmt: skip
    transaction_two_phase_commit_enable: bool = config(
        BOOLEAN, False,
        doc="Whether a producer may take part in a two-phase commit, whose transactions never time out. "
        "Octavo has no two-phase commit and does not use it.", is_used=False,
    )  # fmt: skip
    transactional_id_expiration_ms: int = config(
        INT, 7 * DAY_MS, Between(1),
        doc="How long a transactional id is remembered after its last use; without upkeep, forever.",
    )  # fmt: skip
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = config(
        INT, 10_000, Between(1),
        doc="How often open transactions are checked for their timeout, and aborted after it.",
    )  # fmt: skip
    transaction_remove_expired_transaction_cleanup_interval_ms: int = config(
        INT, 3_600_000, Between(1),
        doc="How often transactional ids are checked for transactional.id.expiration.ms.",
    )  # fmt: skip

    # Groups
    group_min_session_timeout_ms: int = config(
        INT, 6_000,
        doc="The shortest session timeout that a member of the classic protocol may ask for.",
    )  # fmt: skip
    group_max_session_timeout_ms: int = config(
        INT, 1_800_000,
        doc="The longest session timeout that a member of the classic protocol may ask for.",
    )  # fmt: skip
    group_initial_rebalance_delay_ms: int = config(
        INT, 3_000,
        doc="How long a classic group that was empty waits for more members after the first one has joined. "
        "If some join meanwhile, it waits again, up to the rebalance timeout.",
    )  # fmt: skip
    group_max_size: int = config(
        INT, MAX_INT, Between(1),
        doc="How many members a classic group may have.",
    )  # fmt: skip
    offset_metadata_max_bytes: int = config(
        INT, 4096,
        doc="How long the metadata that a consumer commits with an offset may be.",
    )  # fmt: skip

    # Internal topics
    offsets_topic_num_partitions: int = config(
        INT, 50, Between(1),
        doc="How many partitions __consumer_offsets is created with. Once the topic exists, this has no effect.",
    )  # fmt: skip
    offsets_topic_segment_bytes: int = config(
        INT, 100 << 20, Between(1),
        doc="segment.bytes that __consumer_offsets is created with.",
    )  # fmt: skip
    offsets_topic_compression_codec: int = config(
        INT, 0, OneOf((0, 1, 2, 3, 4)),
        doc="The codec of batches in __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
    )  # fmt: skip
    offsets_retention_minutes: int = config(
        INT, 10_080, Between(1),
        doc="How long the offsets of a group without members, or for topics that no member subscribes to, are kept. "
        "Without upkeep they are kept forever.",
    )  # fmt: skip
    offsets_retention_check_interval_ms: int = config(
        LONG, 600_000, Between(1),
        doc="How often committed offsets are checked for their age, if upkeep is on.",
    )  # fmt: skip
    transaction_state_log_num_partitions: int = config(
        INT, 50, Between(1),
        doc="How many partitions __transaction_state is created with. Once the topic exists, this has no effect.",
    )  # fmt: skip
    transaction_state_log_segment_bytes: int = config(
        INT, 100 << 20, Between(1),
        doc="segment.bytes that __transaction_state is created with.",
    )  # fmt: skip
