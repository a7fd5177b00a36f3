"""Reads what clients set in a Kafka cluster from a KRaft node's own metadata log, `__cluster_metadata-0`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from octavo.config import BROKER_CONFIGS, SYNONYMS
from octavo.errors import CorruptionError
from octavo.format.batches.decoder import Decoder
from octavo.format.batches.row_columns import to_records
from octavo.format.batches.walker import walk
from octavo.format.names import (
    CLUSTER_METADATA_TOPIC,
    META_PROPERTIES,
    FileKind,
    KRaftSnapshot,
    SegmentFile,
    TopicPartition,
    Transient,
)
from octavo.format.small_files import meta_properties
from octavo.kernels.layout import CONTROL, Column
from octavo.system.filesystem import FilesToRead

if TYPE_CHECKING:
    from octavo.format.messages.records import MetadataRecord

_log = logging.getLogger(__name__)

METADATA_FOLDER = str(TopicPartition(CLUSTER_METADATA_TOPIC, 0))

_TOPIC_RECORD, _CONFIG_RECORD, _REMOVE_TOPIC_RECORD = 2, 4, 9
_USER_RECORDS = {11, 14, 18, 19, 22}  # users, quotas, ACLs, and the removal of ACLs and users
_TOPIC_RESOURCE, _BROKER_RESOURCE, _GROUP_RESOURCE = 2, 4, 32
_CLUSTER_DEFAULT = ""  # the resource name of the defaults for all brokers


class MetadataConfigs(NamedTuple):
    """What was set while the cluster ran: configs of topics, of this broker and of groups, and what concerns users."""

    topics: dict[str, dict[str, str]]  # all topics, also those without configs
    broker: dict[str, str]  # of this node; only those that this version knows
    cluster: dict[str, str]  # of all nodes; only those that this version knows
    groups: dict[str, dict[str, str]]
    users: list[MetadataRecord]  # users, ACLs and quotas, which only a broker needs


def read_metadata_configs(filesystem: FilesToRead, root: Path) -> MetadataConfigs:
    """The configs in the latest snapshot, updated by the log that follows it."""
    topics: dict[str, dict[str, str]] = {}
    brokers: dict[str, dict[str, str]] = {}
    groups: dict[str, dict[str, str]] = {}
    of_kind = {_TOPIC_RESOURCE: topics, _BROKER_RESOURCE: brokers, _GROUP_RESOURCE: groups}
    names: dict[object, str] = {}
    users: list[MetadataRecord] = []
    for record in metadata_records(filesystem, root):
        data = record.data
        if record.type.id == _TOPIC_RECORD:
            names[data["topicId"]] = data["name"]
            topics.setdefault(data["name"], {})
        elif record.type.id == _REMOVE_TOPIC_RECORD:
            topics.pop(names.pop(data["topicId"], ""), None)
        elif record.type.id == _CONFIG_RECORD and data["resourceType"] in of_kind:
            configs = of_kind[data["resourceType"]].setdefault(data["resourceName"], {})
            if data["value"] is None:
                configs.pop(data["name"], None)
            else:
                configs[data["name"]] = data["value"]
        elif record.type.id in _USER_RECORDS:
            users.append(record)
    node = brokers.get(_node_id(filesystem, root), {}) if brokers else {}
    return MetadataConfigs(topics, _known(node), _known(brokers.get(_CLUSTER_DEFAULT, {})), groups, users)


def _known(configs: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in configs.items() if name in BROKER_CONFIGS or name in SYNONYMS}


def _node_id(filesystem: FilesToRead, root: Path) -> str:
    """The resource name of this directory's broker in the metadata."""
    try:
        return str(meta_properties.decode(filesystem.read_bytes(root / META_PROPERTIES)).node_id)
    except (FileNotFoundError, CorruptionError):
        return str(None)


def metadata_records(filesystem: FilesToRead, root: Path) -> Iterator[MetadataRecord]:
    """The records of the latest snapshot, then those of the log after it; none if there is no metadata log."""
    folder = root / METADATA_FOLDER
    if not filesystem.exists(folder) or not filesystem.is_folder(folder):
        return
    snapshots, segments = [], []
    for name in filesystem.names(folder):
        snapshot, segment = KRaftSnapshot.parse(name), SegmentFile.parse(name)
        if snapshot is not None and not snapshot.deleted and not snapshot.partial:
            snapshots.append((snapshot.end_offset, name))
        elif segment is not None and segment.kind is FileKind.LOG and segment.transient is Transient.NONE:
            segments.append(name)
    start = 0
    if snapshots:
        start, name = max(snapshots)
        yield from _records_of(filesystem, folder / name, 0)
    for name in segments:
        yield from _records_of(filesystem, folder / name, start)


def _records_of(filesystem: FilesToRead, path: Path, start: int) -> Iterator[MetadataRecord]:
    """A file's records from an offset on, up to the first damaged batch."""
    # Imported here, since few directories have a metadata log, and loading its record schemas takes long.
    from octavo.format.messages.cluster_metadata import decode_metadata_record
    from octavo.format.messages.records import UnknownRecordTypeError

    walked = walk(filesystem.read_bytes(path))
    decoder = Decoder(Column.ALL)
    for row in walked.table:
        if row["flaws"]:
            _log.warning("%s, position %d: a damaged batch; the rest of the file is not read", path, row["position"])
            return
        if row["attributes"] & CONTROL:
            continue
        try:
            records = to_records(decoder.decode_one(walked.data, row))
        except CorruptionError as error:
            _log.warning("%s; the rest of the file is not read", error.at(path=str(path)))
            return
        for record in records:
            if record.offset < start or record.value is None:
                continue
            try:
                yield decode_metadata_record(record.value)
            except UnknownRecordTypeError:
                continue  # written by a newer broker
            except CorruptionError as error:
                _log.warning("%s, offset %d: %s; the record is skipped", path, record.offset, error)
