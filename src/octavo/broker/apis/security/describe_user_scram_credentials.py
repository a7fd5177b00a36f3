"""DescribeUserScramCredentials: lists the users with SCRAM credentials, but never the credentials themselves."""

from __future__ import annotations

from collections import Counter

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.request import Answer, Request
from octavo.broker.security.acls import Operation
from octavo.broker.security.scram import ScramMechanism
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


def handle(request: Request, context: Context) -> Answer:
    try:
        context.check_cluster(request.client, Operation.DESCRIBE)
    except RequestError as error:
        return {
            **error_fields(error),
            "results": [{"user": "", **error_fields(error)}] * len(request.body["users"] or ()),
        }
    found: dict[str, list[Row]] = {}
    for mechanism in ScramMechanism:
        for name, credential in context.security.scram(mechanism).items():
            row = {"mechanism": mechanism, "iterations": credential.iterations}
            found.setdefault(name, []).append(row)
    asked = Counter(row["name"] for row in request.body["users"] or ()) or Counter(sorted(found))
    return {"results": [_user(name, count, found.get(name)) for name, count in asked.items()]}


def _user(name: str, asked: int, credentials: list[Row] | None) -> Row:
    if asked > 1:
        problem = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
        return {"user": name, "errorCode": ErrorCode.DUPLICATE_RESOURCE, "errorMessage": problem}
    if credentials is None:
        problem = f"Attempt to describe a user credential that does not exist: {name}"
        return {"user": name, "errorCode": ErrorCode.RESOURCE_NOT_FOUND, "errorMessage": problem}
    return {"user": name, "credentialInfos": credentials}
