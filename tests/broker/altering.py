"""Changes the configs of a kind of resource, on a real Kafka and on ours."""

from __future__ import annotations

from contextlib import nullcontext
from typing import NamedTuple

from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.apis import Api
from tests.broker.twin import Twin


class ConfigResources(NamedTuple):
    """Resources of one type; a dry run asks in every version, and a change waits until both brokers show it."""

    resource_type: int

    def alter(self, twin: Twin, name: str, *changes: tuple[str, int, str | None], dry_run: bool = False) -> None:
        """Change single configs: name, operation and value."""
        rows = [{"name": config, "configOperation": operation, "value": value} for config, operation, value in changes]
        self._ask(twin, apis.INCREMENTAL_ALTER_CONFIGS, name, rows, dry_run=dry_run)

    def replace(self, twin: Twin, name: str, configs: dict[str, str | None], *, dry_run: bool = False) -> None:
        """Give a resource these configs instead of those that it has."""
        rows = [{"name": config, "value": value} for config, value in configs.items()]
        self._ask(twin, apis.ALTER_CONFIGS, name, rows, dry_run=dry_run)

    def _ask(self, twin: Twin, api: Api, name: str, rows: list[Row], *, dry_run: bool) -> None:
        resource = {"resourceType": self.resource_type, "resourceName": name}
        body = {"resources": [{**resource, "configs": rows}], "validateOnly": dry_run}
        shown = {"resources": [{**resource, "configurationKeys": None}]}
        with nullcontext() if dry_run else twin.changing(apis.DESCRIBE_CONFIGS, 4, shown):
            for version in list(api.versions)[0 if dry_run else -1 :]:
                twin.ask(api, version, body)
