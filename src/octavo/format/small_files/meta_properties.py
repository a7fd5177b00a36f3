"""`meta.properties` in a log directory's root: the cluster and broker that the directory belongs to, and its own id.

Rules across the directories of a broker (one cluster, one node, unique directory ids) are not checked here.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from octavo.errors import CorruptionError, EncodingError
from octavo.format import kafka_uuid
from octavo.format.java import properties as java_properties
from octavo.format.java.text import parse_integer
from octavo.kernels.integers import INT32_MAX

BROKER_ID_VERSION = 0  # brokers with ZooKeeper; also the default if no version is given
NODE_ID_VERSION = 1  # KRaft

_Value = TypeVar("_Value")

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class MetaProperties(NamedTuple):
    """Version 1 requires a cluster id and a node id, version 0 nothing. Keys unknown to the version are ignored."""

    version: int
    cluster_id: str | None = None
    node_id: int | None = None  # broker.id in version 0
    directory_id: bytes | None = None


def decode(data: bytes) -> MetaProperties:
    properties = java_properties.decode(data)
    version = _parsed(properties, "version", lambda text: parse_integer(text.strip(), 32)) or BROKER_ID_VERSION
    if version not in (BROKER_ID_VERSION, NODE_ID_VERSION):
        raise CorruptionError(f"meta.properties of version {version}, expected 0 or 1")
    meta = MetaProperties(
        version,
        properties.get("cluster.id"),
        _parsed(properties, _id_key(version), lambda text: parse_integer(text, 32)),
        _parsed(properties, "directory.id", kafka_uuid.from_text),
    )
    missing = _missing(meta)
    if missing is not None:
        raise CorruptionError(f"meta.properties of version {version} has no {missing}")
    return meta


def encode(meta: MetaProperties, written: datetime) -> bytes:
    """The file's bytes, with the time of writing in the second line, and keys in the order of Kafka's hash table."""
    missing = _missing(meta)
    if missing is not None or meta.version not in (BROKER_ID_VERSION, NODE_ID_VERSION):
        raise EncodingError(f"{meta} cannot be written: {missing or 'version 0 or 1'} is needed")
    if meta.node_id is not None and not 0 <= meta.node_id <= INT32_MAX:
        raise EncodingError(f"{_id_key(meta.version)} {meta.node_id} is not in the range 0 to {INT32_MAX}")
    properties = {
        _id_key(meta.version): None if meta.node_id is None else str(meta.node_id),
        "directory.id": None if meta.directory_id is None else kafka_uuid.to_text(meta.directory_id),
        "version": str(meta.version),
        "cluster.id": meta.cluster_id,
    }
    present = {key: value for key, value in properties.items() if value is not None}
    return java_properties.encode(present, comments=("", _java_date(written)))


def _parsed(properties: dict[str, str], key: str, parse: Callable[[str], _Value]) -> _Value | None:
    if key not in properties:
        return None
    try:
        return parse(properties[key])
    except CorruptionError as error:
        raise CorruptionError(f"{key}: {error.problem}") from error


def _id_key(version: int) -> str:
    return "broker.id" if version == BROKER_ID_VERSION else "node.id"


def _missing(meta: MetaProperties) -> str | None:
    if meta.version == BROKER_ID_VERSION:
        return None
    if meta.cluster_id is None:
        return "cluster.id"
    return "node.id" if meta.node_id is None else None


def _java_date(moment: datetime) -> str:
    utc = moment.astimezone(UTC)
    weekday, month = _WEEKDAYS[utc.weekday()], _MONTHS[utc.month - 1]
    return f"{weekday} {month} {utc.day:02} {utc.hour:02}:{utc.minute:02}:{utc.second:02} UTC {utc.year}"
