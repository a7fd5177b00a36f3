"""What the three ACL APIs have in common."""

from __future__ import annotations

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.request import Request
from octavo.broker.security.acls import AclFilter, Operation, PatternType, Permission, ResourceType
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


def check_enabled(context: Context) -> None:
    """As in Kafka, refuse the request if nothing enforces ACLs."""
    if not context.authorizer.enabled:
        raise RequestError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")


def refusal(request: Request, context: Context) -> Row | None:
    """The error to return for each ACL or filter in the request if the client may not change ACLs, or nothing enforces
    them; None otherwise."""
    try:
        context.check_cluster(request.client, Operation.ALTER)
        check_enabled(context)
    except RequestError as error:
        return error_fields(error)
    return None


def filter_of(row: Row) -> AclFilter:
    """The filter in a request; raises RequestError if it names something unknown."""
    found = AclFilter(
        row["resourceTypeFilter"], row["resourceNameFilter"], row["patternTypeFilter"], row["principalFilter"],
        row["hostFilter"], row["operation"], row["permissionType"],
    )  # fmt: skip
    for field, value, known in (
        ("resourceTypeFilter", found.resource_type, set(ResourceType)),
        ("patternTypeFilter", found.pattern_type, set(PatternType)),
        ("operation", found.operation, set(Operation)),
        ("permissionType", found.permission, set(Permission)),
    ):
        if value not in known:
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Unknown {field} {value} in the filter.")
    return found
