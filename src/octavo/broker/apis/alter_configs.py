"""AlterConfigs: replaces all configs of topics; a config that is not named is reset to its default."""

from __future__ import annotations

from octavo.broker.changed_configs import change
from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.request import Answer, Request
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


def handle(request: Request, context: Context) -> Answer:
    return change(request, context, _changes)


def _changes(context: Context, topic: str, configs: list[Row]) -> dict[str, str | None]:
    changes: dict[str, str | None] = dict.fromkeys(context.logs.topic_overrides(topic))
    for config in configs:
        if config["value"] is None:
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {config['name']}")
        changes[config["name"]] = config["value"]
    return changes
