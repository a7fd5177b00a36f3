"""What both APIs that change configs have in common: each resource is checked and changed on its own."""

from __future__ import annotations

import threading
from collections.abc import Callable

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, told
from octavo.broker.request import Answer, Later, Request
from octavo.broker.resources import ConfigResource
from octavo.broker.security.acls import Operation
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

Changes = Callable[[Context, str, list[Row]], dict[str, str | None]]
"""Computes the new configs of a topic from those in a request; None means the default."""


_one_at_a_time = threading.Lock()


def change(request: Request, context: Context, changes: Changes) -> Answer:
    body = request.body

    def make() -> Row:
        validate_only = body["validateOnly"]
        return {
            "responses": [
                _change(request, context, row, changes, validate_only=validate_only) for row in body["resources"]
            ]
        }

    return Later(make)


def _change(request: Request, context: Context, row: Row, changes: Changes, *, validate_only: bool) -> Row:
    answer = {"resourceType": row["resourceType"], "resourceName": row["resourceName"]}
    try:
        if row["resourceType"] != ConfigResource.TOPIC:
            context.check_cluster(request.client, Operation.ALTER_CONFIGS)
            problem = "The configs of a broker cannot be changed while it runs: change its properties, and restart it."
            raise RequestError(ErrorCode.INVALID_REQUEST, problem)
        topic = row["resourceName"]
        context.topic(request.client, Operation.ALTER_CONFIGS, topic)
        with _one_at_a_time:  # a change of a list depends on its current value
            wanted = changes(context, topic, row["configs"])
            if validate_only:
                context.logs.check_configs(topic, wanted)
            else:
                context.logs.alter_configs(topic, wanted)
    except OctavoError as error:
        return {**answer, **told(error)}
    return answer
