"""DeleteAcls: removes the bindings that filters select."""

from __future__ import annotations

from octavo.broker.apis.security.acl_requests import filter_of, refusal
from octavo.broker.context import Context
from octavo.broker.errors import error_fields
from octavo.broker.request import Answer, Later, Request
from octavo.broker.security.acls import Acl
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row


def handle(request: Request, context: Context) -> Answer:
    filters = request.body["filters"]
    if (refused := refusal(request, context)) is not None:
        return {"filterResults": [refused] * len(filters)}
    return Later(lambda: {"filterResults": [_delete(context, row) for row in filters]})


def _delete(context: Context, row: Row) -> Row:
    deleted: set[Acl] = set()

    def change(acls: frozenset[Acl]) -> frozenset[Acl]:
        deleted.update(filter(wanted.matches, acls))
        return acls - deleted

    try:
        wanted = filter_of(row)
        context.security.change_acls(change)
    except OctavoError as error:
        return error_fields(error)
    return {"matchingAcls": [acl.row() for acl in sorted(deleted)]}
