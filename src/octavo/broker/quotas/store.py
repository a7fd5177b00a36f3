"""The quotas: in Octavo's own file in each log directory or, until that exists, in a Kafka cluster's metadata."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from octavo.broker.quotas.entities import Quotas, entity_of
from octavo.format.names import QUOTA_STORE
from octavo.storage.directory.shared_values import SharedValues, without_empty
from octavo.storage.files.shared_file import SharedFile
from octavo.storage.log_manager import LogManager

if TYPE_CHECKING:
    from octavo.format.messages.records import MetadataRecord

_QUOTA = 14  # the type of the metadata record


class QuotaStore(SharedValues[Quotas]):
    """The quotas in force."""

    def __init__(self, log_manager: LogManager) -> None:
        super().__init__(log_manager.roots, _FILE, _replay)


def _replay(records: Iterator[MetadataRecord]) -> Quotas:
    quotas = Quotas()
    for data in (record.data for record in records if record.type.id == _QUOTA):
        values = quotas.setdefault(entity_of({one["entityType"]: one["entityName"] for one in data["entity"]}), {})
        if data["remove"]:
            values.pop(data["key"], None)
        else:
            values[data["key"]] = data["value"]
    return without_empty(quotas)


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
