"""CreateAcls: adds bindings; an invalid one does not stop the others."""

from __future__ import annotations

from octavo.broker.apis.security.acl_requests import refusal
from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.request import Answer, Later, Request
from octavo.broker.security.acls import CLUSTER_NAME, Acl, Operation, PatternType, Permission, ResourceType
from octavo.broker.security.principals import check_principal
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


def handle(request: Request, context: Context) -> Answer:
    creations = request.body["creations"]
    if (refused := refusal(request, context)) is not None:
        return {"results": [refused] * len(creations)}
    results: list[Row] = []
    wanted: set[Acl] = set()
    for row in creations:
        try:
            wanted.add(_acl(row))
            results.append({})
        except RequestError as error:
            results.append(error_fields(error))
    return Later(lambda: _add(context, wanted, results))


def _add(context: Context, wanted: set[Acl], results: list[Row]) -> Row:
    try:
        context.security.change_acls(lambda acls: acls | wanted)
    except OctavoError as error:
        return {"results": [row or error_fields(error) for row in results]}
    return {"results": results}


def _acl(row: Row) -> Acl:
    """The binding in a request; raises RequestError if it is invalid."""
    kind, name, pattern = row["resourceType"], row["resourceName"], row["resourcePatternType"]
    operation, permission = row["operation"], row["permissionType"]
    for what, value, known in (
        ("resourceType", kind, set(ResourceType) - {ResourceType.ANY}),
        ("patternType", pattern, {PatternType.LITERAL, PatternType.PREFIXED}),
        ("operation", operation, set(Operation) - {Operation.ANY}),
        ("permissionType", permission, set(Permission) - {Permission.ANY}),
    ):
        if value not in known:
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Invalid {what} {value}")
    if not name:
        raise RequestError(ErrorCode.INVALID_REQUEST, "Resource name should not be empty")
    if kind == ResourceType.CLUSTER and name != CLUSTER_NAME:
        problem = f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
        raise RequestError(ErrorCode.INVALID_REQUEST, problem)
    check_principal(row["principal"])
    return Acl(kind, name, pattern, row["principal"], row["host"], operation, permission)
