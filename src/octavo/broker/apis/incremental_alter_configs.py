"""IncrementalAlterConfigs: sets, resets or extends single configs of topics."""

from __future__ import annotations

from collections import Counter

from octavo.broker.changed_configs import change
from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.request import Answer, Request
from octavo.config.kinds import LIST, as_text
from octavo.config.table import TOPIC_CONFIGS
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


def handle(request: Request, context: Context) -> Answer:
    return change(request, context, _changes)


def _changes(context: Context, topic: str, configs: list[Row]) -> dict[str, str | None]:
    twice = [name for name, count in Counter(config["name"] for config in configs).items() if count > 1]
    if twice:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Error due to duplicate config keys: {','.join(twice)}")
    return {config["name"]: _value(context, topic, config) for config in configs}


def _value(context: Context, topic: str, config: Row) -> str | None:
    """The new value of a config; None for its default."""
    name, operation, value = config["name"], config["configOperation"], config["value"]
    if operation == _DELETE:
        return None
    if value is None:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {name}")
    if operation == _SET:
        return str(value)
    if operation not in (_APPEND, _SUBTRACT):
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Unknown operation {operation} for {name}")
    key = TOPIC_CONFIGS.get(name)
    if key is None or key.kind is not LIST:
        verb = "APPEND" if operation == _APPEND else "SUBTRACT"
        raise RequestError(ErrorCode.INVALID_CONFIG, f"Can't {verb} to key {name} because its type is not LIST.")
    present = list(getattr(context.logs.config(topic), key.attribute))
    given = str(value).split(",")
    if operation == _APPEND:
        return as_text(present + [one for one in given if one not in present])
    return as_text([one for one in present if one not in given])
