"""DescribeAcls: lists the ACLs that a filter selects, by resource."""

from __future__ import annotations

from octavo.broker.apis.security.acl_requests import check_enabled, filter_of
from octavo.broker.context import Context
from octavo.broker.request import Answer, Request
from octavo.broker.security.acls import Operation
from octavo.format.messages.schema import Row


def handle(request: Request, context: Context) -> Answer:
    context.check_cluster(request.client, Operation.DESCRIBE)
    check_enabled(context)
    wanted = filter_of(request.body)
    resources: dict[tuple[int, str, int], list[Row]] = {}
    for acl in sorted(filter(wanted.matches, context.security.values.acls)):
        row = {"principal": acl.principal, "host": acl.host, "operation": acl.operation}
        rows = resources.setdefault((acl.resource_type, acl.resource_name, acl.pattern_type), [])
        rows.append({**row, "permissionType": acl.permission})
    return {
        "resources": [
            {"resourceType": kind, "resourceName": name, "patternType": pattern, "acls": rows}
            for (kind, name, pattern), rows in resources.items()
        ]
    }
