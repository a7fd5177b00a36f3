"""`.kafka_cleanshutdown`: its existence means that all logs were closed; newer brokers (KIP-966) write their epoch to
it."""

from __future__ import annotations

import json

from octavo.errors import EncodingError
from octavo.kernels.integers import INT64_MAX

VERSION = 0


def decode(data: bytes) -> int | None:
    """The broker epoch; None if the content has none, which is not an error: older brokers wrote an empty file."""
    try:
        content = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    epoch = content.get("brokerEpoch") if isinstance(content, dict) else None
    in_range = type(epoch) is int and -INT64_MAX - 1 <= epoch <= INT64_MAX
    return epoch if in_range else None


def encode(broker_epoch: int) -> bytes:
    """The file's bytes. A broker without an epoch, such as one with ZooKeeper, wrote -1."""
    if not -1 <= broker_epoch <= INT64_MAX:
        raise EncodingError(f"broker epoch {broker_epoch} is not in the range -1 to {INT64_MAX}")
    return json.dumps({"version": VERSION, "brokerEpoch": broker_epoch}, separators=(",", ":")).encode("ascii")
