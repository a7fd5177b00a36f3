"""IncrementalAlterConfigs: sets, resets, extends or shortens individual configs of topics, groups and brokers.

Unlike Kafka: the same as for AlterConfigs.
"""

from __future__ import annotations

from octavo.broker.apis.configs.alter_configs import APPEND, DELETE, SET, SUBTRACT, change
from octavo.broker.apis.configs.alterable import Alterable, Changes
from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.request import Answer, Request
from octavo.config.kinds import as_text
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


def handle(request: Request, context: Context) -> Answer:
    return change(request, context, _changes)


def _changes(resource: Alterable, configs: list[Row]) -> Changes:
    return {config["name"]: _value(resource, config) for config in configs}


def _value(resource: Alterable, config: Row) -> str | None:
    """The new value of a config; None for its default."""
    name, operation = config["name"], config["configOperation"]
    if operation == DELETE:
        return None
    value: str = config["value"]
    if operation == SET:
        return value
    if operation not in (APPEND, SUBTRACT):
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Unknown operation {operation} for {name}")
    present, given = resource.elements(name, "APPEND" if operation == APPEND else "SUBTRACT"), value.split(",")
    if operation == APPEND:
        return as_text(present + [one for one in given if one not in present])
    return as_text([one for one in present if one not in given])
