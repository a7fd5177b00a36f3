"""AlterConfigs: replaces all configs of topics, groups and brokers; configs that are not named are reset.

Unlike Kafka: configs of listeners are refused, since they are read when the broker starts. Broker configs that Octavo
does not know, such as num.io.threads, are kept and listed without their values, and have no effect.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from octavo.broker.apis.configs.alterable import Alterable, Changes, alterable
from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.request import Answer, Later, Request
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

SET, DELETE, APPEND, SUBTRACT = range(4)
_one_at_a_time = threading.Lock()


def handle(request: Request, context: Context) -> Answer:
    return change(request, context, _changes)


def _changes(resource: Alterable, configs: list[Row]) -> Changes:
    return {**dict.fromkeys(resource.own), **{config["name"]: config["value"] for config in configs}}


def change(request: Request, context: Context, changes: Callable[[Alterable, list[Row]], Changes]) -> Answer:
    """Check and change each resource of a request on its own; `changes` turns one resource's rows into its changes."""
    rows = request.body["resources"]
    times = Counter((row["resourceType"], row["resourceName"]) for row in rows)

    def answer(row: Row) -> Row:
        shown = {"resourceType": row["resourceType"], "resourceName": row["resourceName"]}
        try:
            if times[row["resourceType"], row["resourceName"]] > 1:
                raise RequestError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            _check_rows(row["configs"])
            with _one_at_a_time:  # the change of a list depends on its current value
                resource = alterable(request, context, row)
                resource.alter(changes(resource, row["configs"]), dry_run=request.body["validateOnly"])
        except OctavoError as error:
            return {**shown, **error_fields(error)}
        return {**shown, "errorMessage": None}

    return Later(lambda: {"responses": [answer(row) for row in rows]})


def _check_rows(configs: list[Row]) -> None:
    nulls = [
        config["name"] for config in configs if config["value"] is None and config.get("configOperation") != DELETE
    ]
    if nulls:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {','.join(nulls)}")
    twice = [name for name, count in Counter(config["name"] for config in configs).items() if count > 1]
    if twice:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Error due to duplicate config keys: {','.join(twice)}")
