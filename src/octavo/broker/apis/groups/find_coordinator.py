"""FindCoordinator: this broker coordinates all groups and transactions.

Unlike Kafka: the internal topic is created before the answer, which names the coordinator at once, so that no client
has to ask again. Share groups are not supported (INVALID_REQUEST).
"""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.request import Request, later
from octavo.broker.security.acls import Operation
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

_GROUP, _TRANSACTION = 0, 1
_SEVERAL_FROM_VERSION = 4
_NOBODY: Row = {"nodeId": -1, "host": "", "port": -1}


@later
def handle(request: Request, context: Context) -> Row:
    body = request.body
    if request.version < _SEVERAL_FROM_VERSION:
        return _found(request, context, body["key"])
    return {"coordinators": [{"key": key, **_found(request, context, key)} for key in body["coordinatorKeys"]]}


def _found(request: Request, context: Context, key: str) -> Row:
    try:
        _prepare(request, context, key)
    except OctavoError as error:
        return {**_NOBODY, **error_fields(error)}
    host, port = request.peer.endpoint
    return {"nodeId": context.node_id, "host": host, "port": port}


def _prepare(request: Request, context: Context, key: str) -> None:
    """Check the request, and do now what needs the disk, so that later requests need not wait for it."""
    kind = request.body["keyType"]
    if kind == _GROUP:
        context.check_group(request.client, Operation.DESCRIBE, key)
        if not context.is_read_only:
            context.groups.admin.load(key)
    elif kind == _TRANSACTION:
        context.check_transactional_id(request.client, Operation.DESCRIBE, key)
        if not context.is_read_only:
            context.transactions.states.create_log()
    else:
        raise RequestError(ErrorCode.INVALID_REQUEST)
