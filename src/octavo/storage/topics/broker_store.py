"""Octavo's own file of the configs that clients have set for the broker while it ran."""

from __future__ import annotations

from typing import Any, NamedTuple

from octavo.format.names import BROKER_STORE
from octavo.storage.files.shared_file import SharedFile

Changed = dict[str, str | None]
"""Configs by name. None means that the value in the cluster's metadata no longer counts."""


class ChangedConfigs(NamedTuple):
    """What was changed for this broker, and for all brokers of its cluster."""

    broker: Changed
    cluster: Changed


def _to_fields(changed: ChangedConfigs) -> dict[str, Any]:
    return {name: dict(sorted(configs.items())) for name, configs in changed._asdict().items()}


def _of_fields(fields: dict[str, Any]) -> ChangedConfigs:
    return ChangedConfigs(*(_texts(fields[name]) for name in ChangedConfigs._fields))


def _texts(configs: dict[str, Any]) -> Changed:
    for name, value in configs.items():
        if value is not None and not isinstance(value, str):
            raise ValueError(f"{name} is {value!r}, expected text or null")
    return dict(configs)


BROKER_FILE = SharedFile(BROKER_STORE, _to_fields, _of_fields)
