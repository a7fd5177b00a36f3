"""Which of a broker's configs Kafka lets clients change while the broker runs."""

from __future__ import annotations

from octavo.config.key import Unit
from octavo.config.table import BROKER_CONFIGS, OF_LISTENER, SYNONYMS

MIN_INSYNC_REPLICAS = "min.insync.replicas"
_OF_SECURITY = frozenset(name for name in BROKER_CONFIGS if name.startswith("ssl.") and name != "ssl.client.auth")
_OF_LISTENERS = frozenset({"listeners", "listener.security.protocol.map", "sasl.enabled.mechanisms", "ssl.client.auth"})
_OF_A_BROKER = _OF_SECURITY | _OF_LISTENERS | {"cordoned.log.dirs"}
_OF_TOPICS = frozenset(
    name for name, (_, synonym) in SYNONYMS.items() if synonym.unit is Unit.SAME and name not in BROKER_CONFIGS
)
DYNAMIC = (
    _OF_TOPICS
    | _OF_A_BROKER
    | {
        "group.consumer.assignment.interval.ms",
        "log.cleaner.backoff.ms",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "log.cleaner.io.max.bytes.per.second",
        "log.cleaner.threads",
        "max.connections",
        "max.connections.per.ip",
        "num.recovery.threads.per.data.dir",
        "producer.id.expiration.ms",
        "transaction.partition.verification.enable",
    }
)
"""The names that Kafka lets a client set; others that the table knows are fixed when the broker starts."""


def fixed(name: str) -> bool:
    """Whether a config can only be set when the broker starts. Unknown names can be set: they have no effect."""
    return name not in DYNAMIC and (name in BROKER_CONFIGS or name in SYNONYMS)


def needs_listener(name: str) -> bool:
    """Whether a config can only be changed for a single listener."""
    return name in _OF_SECURITY


def of_listener(name: str) -> bool:
    """Whether a config decides how clients connect: Kafka reopens its listeners, Octavo refuses to change it."""
    return name in _OF_LISTENERS or name.startswith(OF_LISTENER)


def needs_broker(name: str) -> bool:
    """Whether a config cannot be set for all brokers of a cluster."""
    return name in _OF_A_BROKER or name.startswith(OF_LISTENER)
