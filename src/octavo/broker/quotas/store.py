"""Octavo's own file of quotas in each log directory, and those in a Kafka cluster's metadata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from octavo.broker.quotas.entities import Entity, Quotas, entity_of
from octavo.format.names import QUOTA_STORE
from octavo.storage.directory.log_root import LogRoot
from octavo.storage.directory.log_roots import live
from octavo.storage.directory.shared_values import SharedValues
from octavo.storage.files.shared_file import SharedFile
from octavo.storage.log_manager import LogManager
from octavo.storage.topics.metadata_configs import metadata_records
from octavo.system.filesystem import FilesToRead

_QUOTA = 14  # the type of metadata records


class QuotaStore(SharedValues[Entity, float]):
    """The quotas in force."""

    def __init__(self, log_manager: LogManager) -> None:
        files, roots = log_manager.environment.filesystem, log_manager.roots
        super().__init__(roots, files, _FILE, lambda: _taken_over(files, roots))


def _taken_over(files: FilesToRead, roots: Sequence[LogRoot]) -> Quotas:
    quotas = Quotas()
    for record in (record for root in live(roots) for record in metadata_records(files, root.path)):
        if record.type.id == _QUOTA:
            _replay(quotas, record.data)
    return quotas


def _replay(quotas: Quotas, data: dict[str, Any]) -> None:
    values = quotas.setdefault(entity_of({one["entityType"]: one["entityName"] for one in data["entity"]}), {})
    if data["remove"]:
        values.pop(data["key"], None)
    else:
        values[data["key"]] = data["value"]


def _to_fields(quotas: Quotas) -> dict[str, Any]:
    rows = [{"entity": dict(entity), "values": dict(sorted(values.items()))} for entity, values in quotas.items()]
    return {"quotas": sorted(rows, key=repr)}


def _of_fields(fields: dict[str, Any]) -> Quotas:
    return {
        entity_of({str(kind): None if name is None else str(name) for kind, name in row["entity"].items()}): {
            str(key): float(value) for key, value in row["values"].items()
        }
        for row in fields["quotas"]
    }


_FILE = SharedFile(QUOTA_STORE, _to_fields, _of_fields)
