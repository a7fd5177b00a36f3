"""DescribeClientQuotas: lists the quotas of the entities that match a filter."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.quotas.entities import CLIENT_ID, IP, USER, Entity
from octavo.broker.request import Answer, Request
from octavo.broker.security.acls import Operation
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

_EXACT, _DEFAULT, _SPECIFIED = range(3)
_ANY = object()


def handle(request: Request, context: Context) -> Answer:
    try:
        context.check_cluster(request.client, Operation.DESCRIBE_CONFIGS)
        wanted = _filter(request.body["components"])
    except RequestError as error:
        return {**error_fields(error), "entries": None}
    return {
        "entries": [
            {
                "entity": [{"entityType": kind, "entityName": name} for kind, name in entity],
                "values": [{"key": key, "value": value} for key, value in values.items()],
            }
            for entity, values in context.quotas.values.items()
            if _matches(entity, wanted, is_strict=request.body["strict"])
        ]
    }


def _filter(components: list[Row]) -> dict[str, object]:
    """The name that each type of entity must have, or _ANY."""
    wanted: dict[str, object] = {}
    for component in components:
        kind, match = component["entityType"], component["match"]
        if not kind:
            raise RequestError(ErrorCode.INVALID_REQUEST, "Invalid empty entity type.")
        if kind in wanted:
            problem = f"Entity type {kind} cannot appear more than once in the filter."
            raise RequestError(ErrorCode.INVALID_REQUEST, problem)
        if kind not in (USER, CLIENT_ID, IP):
            raise RequestError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        if component["matchType"] not in (_EXACT, _DEFAULT, _SPECIFIED):
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Unknown match type {component['matchType']}")
        if (component["matchType"] == _EXACT) is (match is None):
            problem = f"Match type {component['matchType']} cannot have the match string {match!r}."
            raise RequestError(ErrorCode.INVALID_REQUEST, problem)
        wanted[kind] = _ANY if component["matchType"] == _SPECIFIED else match
    if IP in wanted and len(wanted) > 1:
        problem = "Invalid entity filter component combination: ip cannot be used with user or client-id."
        raise RequestError(ErrorCode.INVALID_REQUEST, problem)
    return wanted


def _matches(entity: Entity, wanted: dict[str, object], *, is_strict: bool) -> bool:
    names = dict(entity)
    if is_strict and len(names) != len(wanted):
        return False
    return all(kind in names and name in (_ANY, names[kind]) for kind, name in wanted.items())
