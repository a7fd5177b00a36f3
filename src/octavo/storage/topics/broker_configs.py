"""The broker's configs: those its owner gives, and those that clients set while it runs, here or on Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from octavo.config import BROKER_CONFIGS, SYNONYMS, Given
from octavo.format.names import BROKER_STORE
from octavo.storage.files.shared_file import SharedFile
from octavo.storage.topics.metadata_configs import METADATA_FOLDER, MetadataConfigs
from octavo.system.filesystem import FilesToRead

Changed = dict[str, str | None]
"""Configs by name. None means that the value in the cluster's metadata no longer counts."""


class ChangedConfigs(NamedTuple):
    """What clients have changed for this broker, and for all brokers of its cluster."""

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
"""Octavo's own file of what clients have changed while the broker ran."""


class BrokerConfigs:
    """Configs that clients set override those the owner gives, and those of this broker override its cluster's.

    Configs in a directory's metadata were set earlier, on Kafka, so the ones given now override them.
    """

    def __init__(self, given: Mapping[str, Given]) -> None:
        self.given = given
        self.revision = 0
        self.changed = ChangedConfigs({}, {})
        self._metadata = ChangedConfigs({}, {})
        self._compute()

    def read(self, filesystem: FilesToRead, root: Path, metadata: MetadataConfigs) -> None:
        """Read a directory's files. The first directory's metadata wins, and the latest revision of our own file."""
        self._metadata = ChangedConfigs(
            {**metadata.broker, **self._metadata.broker}, {**metadata.cluster, **self._metadata.cluster}
        )
        found = BROKER_FILE.read(filesystem, root)
        if found is not None and found[0] > self.revision:
            self.revision, self.changed = found
        self._compute()

    def with_changes(self, changes: Mapping[str, str | None], *, of_cluster: bool) -> BrokerConfigs:
        """The configs after a change; None removes a config."""
        changed, metadata = (self.changed.cluster, self._metadata.cluster) if of_cluster else (
            self.changed.broker, self._metadata.broker
        )  # fmt: skip
        merged = {**changed, **changes}
        kept = {name: value for name, value in merged.items() if value is not None or name in metadata}
        after = BrokerConfigs(self.given)
        after.revision, after._metadata = self.revision + 1, self._metadata
        after.changed = self.changed._replace(**{"cluster" if of_cluster else "broker": kept})
        after._compute()
        return after

    def source(self, name: str) -> str:
        """The file or folder that a dynamic config comes from."""
        changed = self.changed.broker if name in self.of_broker else self.changed.cluster
        return METADATA_FOLDER if changed.get(name) is None else BROKER_STORE

    def _compute(self) -> None:
        self.of_broker = self._in_force(self._metadata.broker, self.changed.broker)
        self.of_cluster = self._in_force(self._metadata.cluster, self.changed.cluster)
        self.dynamic = {**self.of_cluster, **self.of_broker}
        known = {name: value for name, value in self.dynamic.items() if name in BROKER_CONFIGS or name in SYNONYMS}
        self.effective: dict[str, Given] = {**self.given, **known}

    def _in_force(self, metadata: Mapping[str, str | None], changed: Mapping[str, str | None]) -> dict[str, str]:
        old = {name: value for name, value in metadata.items() if name not in self.given}
        return {name: value for name, value in {**old, **changed}.items() if value is not None}
