"""The configs of a producer: Kafka's names, types, defaults and ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from octavo.config import ConfigKey, Given
from octavo.config.key import config, keys_of
from octavo.config.kinds import BOOLEAN, INT, LONG, STRING
from octavo.config.ranges import Between, OneOf
from octavo.config.table import parse_client
from octavo.errors import ConfigError
from octavo.format.compression import CODECS, Codec
from octavo.format.compression.codec import codec_named
from octavo.kernels.integers import INT32_MAX

MAX_IN_FLIGHT = 5  # requests of an idempotent producer
_ALL = ("all", "-1")  # values of acks for all replicas


@dataclass(frozen=True, kw_only=True, slots=True)
class ProducerConfig:
    """Each field is a config, named with underscores instead of dots.

    There is no network between producer and log: network configs are checked, but then do nothing, as their docs say.
    """

    batch_size: int = config(
        INT, 16384, Between(0), doc="The size at which a batch is closed; a larger record gets a batch of its own."
    )
    linger_ms: int = config(LONG, 5, Between(0), doc="How long a batch waits for more records before it is appended.")
    max_request_size: int = config(
        INT, 1048576, Between(0),
        doc="The largest record, by the size that it could have uncompressed and alone in a batch.",
    )  # fmt: skip
    buffer_memory: int = config(
        LONG, 33554432, Between(0),
        doc="No record may be larger than this. Nothing ever waits for memory: full batches are appended at once, and "
        "stay in memory only while a failed append is tried again.",
    )  # fmt: skip
    compression_type: str = config(
        STRING, "none", OneOf(tuple(row.name for row in CODECS.values())), doc="The codec of batches."
    )
    compression_gzip_level: int = config(INT, -1, Between(1, 9, (-1,)), doc="The level of gzip.")
    compression_lz4_level: int = config(INT, 9, Between(1, 17), doc="The level of lz4.")
    compression_zstd_level: int = config(INT, 3, Between(-131072, 22), doc="The level of zstd.")
    partitioner_ignore_keys: bool = config(
        BOOLEAN, False, doc="Whether records with a key are spread like those without one."
    )
    partitioner_adaptive_partitioning_enable: bool = config(
        BOOLEAN, True, doc="Whether faster brokers get more records. No effect: all partitions are equally fast."
    )
    partitioner_availability_timeout_ms: int = config(
        LONG, 0, Between(0), doc="How long a partition may accept nothing before it is avoided. No effect."
    )
    enable_idempotence: bool = config(
        BOOLEAN, True,
        doc="Whether batches carry a producer id and sequences, so that a retry cannot duplicate them. "
        "If it is not given, acks=0, acks=1 and retries=0 turn it off.",
    )  # fmt: skip
    acks: str = config(
        STRING, "all", OneOf(("all", "-1", "0", "1")),
        doc="Which replicas must have a batch. There is only one, so only enable.idempotence depends on the value.",
    )  # fmt: skip
    retries: int = config(
        INT, INT32_MAX, Between(0, INT32_MAX),
        doc="How often an append is tried again after an error that may be temporary.",
    )  # fmt: skip
    retry_backoff_ms: int = config(LONG, 100, Between(0), doc="How long to wait before the first retry.")
    retry_backoff_max_ms: int = config(LONG, 1000, Between(0), doc="The longest wait before a retry.")
    delivery_timeout_ms: int = config(
        INT, 120_000, Between(0),
        doc="How long after its first record a batch may be retried. At least linger.ms + request.timeout.ms; if it is "
        "not given, it is raised to that.",
    )  # fmt: skip
    request_timeout_ms: int = config(
        INT, 30_000, Between(0),
        doc="How long an answer may take. Only the smallest allowed delivery.timeout.ms depends on it.",
    )  # fmt: skip
    max_in_flight_requests_per_connection: int = config(
        INT, 5, Between(1),
        doc="How many unanswered requests there may be; with enable.idempotence at most 5. No effect: each partition "
        "appends one batch at a time.",
    )  # fmt: skip
    max_block_ms: int = config(LONG, 60_000, Between(0), doc="How long send() may wait for memory. No effect.")
    transactional_id: str | None = config(
        STRING, None, doc="The name of a transactional producer; a second producer of the same name fences the first."
    )
    transaction_timeout_ms: int = config(
        INT, 60_000, Between(1), doc="How long a transaction may be open before it is aborted."
    )
    client_id: str = config(
        STRING, "", doc="The name of the client. As with brokers, only __admin_client may write to internal topics."
    )

    def __post_init__(self) -> None:
        if self.enable_idempotence and self.max_in_flight_requests_per_connection > MAX_IN_FLIGHT:
            found = f"max.in.flight.requests.per.connection is {self.max_in_flight_requests_per_connection}"
            raise ConfigError(f"{found} with enable.idempotence, expected at most {MAX_IN_FLIGHT}")
        if self.enable_idempotence and self.retries == 0:
            raise ConfigError("retries is 0 with enable.idempotence, expected 1 or more")
        if self.enable_idempotence and self.acks not in _ALL:
            raise ConfigError(f"acks is {self.acks} with enable.idempotence, expected all")
        if self.transactional_id is not None and not self.enable_idempotence:
            raise ConfigError("enable.idempotence is false with a transactional.id, expected true")
        if self.delivery_timeout_ms < (least := _least_delivery_timeout_ms(self.linger_ms, self.request_timeout_ms)):
            expected = f"linger.ms + request.timeout.ms, {least}"
            raise ConfigError(f"delivery.timeout.ms is {self.delivery_timeout_ms}, expected at least {expected}")

    @classmethod
    def of(cls, configs: Mapping[str, Given] | None = None, **named: Given | None) -> Self:
        """The defaults, overridden by `configs` (Kafka's names), then by `named` (underscores instead of dots).

        Defaults adapt to what is given: acks or retries that an idempotent producer cannot have turn idempotence off
        (too many requests in flight do not, as in Kafka), and a long linger.ms raises delivery.timeout.ms.
        """
        values = parse_client("producer config", PRODUCER_CONFIGS, configs, named)
        chosen = {key.attribute: key.default for key in PRODUCER_CONFIGS.values()} | values
        if "enable_idempotence" not in values and chosen["max_in_flight_requests_per_connection"] <= MAX_IN_FLIGHT:
            chosen["enable_idempotence"] = chosen["acks"] in _ALL and chosen["retries"] > 0
        if "delivery_timeout_ms" not in values:
            least = _least_delivery_timeout_ms(chosen["linger_ms"], chosen["request_timeout_ms"])
            chosen["delivery_timeout_ms"] = max(chosen["delivery_timeout_ms"], least)
        return cls(**chosen)

    @property
    def codec(self) -> Codec:
        return codec_named(self.compression_type)

    @property
    def level(self) -> int | None:
        """The codec's level; None if it has none."""
        match self.codec:
            case Codec.GZIP:
                return self.compression_gzip_level
            case Codec.LZ4:
                return self.compression_lz4_level
            case Codec.ZSTD:
                return self.compression_zstd_level
        return None

    @property
    def max_record_bytes(self) -> int:
        return min(self.max_request_size, self.buffer_memory)


def _least_delivery_timeout_ms(linger_ms: int, request_timeout_ms: int) -> int:
    return min(min(linger_ms, INT32_MAX) + request_timeout_ms, INT32_MAX)


PRODUCER_CONFIGS: Mapping[str, ConfigKey] = keys_of(ProducerConfig)
