"""AlterUserScramCredentials: adds, changes and removes SCRAM users."""

from __future__ import annotations

from typing import NamedTuple

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.request import Answer, Later, Request
from octavo.broker.security.acls import Operation
from octavo.broker.security.scram import MAX_ITERATIONS, MIN_ITERATIONS, ScramCredential, ScramMechanism
from octavo.broker.security.store import UserCredentials
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode


class _Change(NamedTuple):
    """A user's new credential; None removes it."""

    user: str
    mechanism: ScramMechanism
    credential: ScramCredential | None


def handle(request: Request, context: Context) -> Answer:
    body = request.body
    rows = [*body["deletions"], *body["upsertions"]]
    names = list(dict.fromkeys(row["name"] for row in rows))
    try:
        context.check_cluster(request.client, Operation.ALTER)
    except RequestError as error:
        return {"results": [{"user": name, **error_fields(error)} for name in names]}
    return Later(lambda: {"results": _alter(context, names, rows)})


def _alter(context: Context, names: list[str], rows: list[Row]) -> list[Row]:
    refused: dict[str, RequestError] = {}

    def change(users: UserCredentials) -> None:
        changes: list[_Change] = []
        for row in rows:
            try:
                if any(row["name"] == change.user for change in changes):
                    problem = "A user credential cannot be altered twice in the same request"
                    raise RequestError(ErrorCode.DUPLICATE_RESOURCE, problem)
                changes.append(_change(row, users))
            except RequestError as error:
                refused.setdefault(row["name"], error)
        for user, mechanism, credential in changes:
            if user in refused:  # a user is changed only if all of its changes are possible
                continue
            if credential is None:
                del users[mechanism][user]
            else:
                users[mechanism][user] = credential

    try:
        context.security.change_users(change)
    except OctavoError as error:
        return [{"user": name, **error_fields(error)} for name in names]
    return [{"user": name, **(error_fields(refused[name]) if name in refused else {})} for name in names]


def _change(row: Row, users: UserCredentials) -> _Change:
    name = row["name"]
    if not name:
        raise RequestError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if row["mechanism"] not in list(ScramMechanism):
        raise RequestError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    mechanism = ScramMechanism(row["mechanism"])
    if "iterations" not in row:
        if name not in users[mechanism]:
            problem = "Attempt to delete a user credential that does not exist"
            raise RequestError(ErrorCode.RESOURCE_NOT_FOUND, problem)
        return _Change(name, mechanism, None)
    if row["iterations"] < MIN_ITERATIONS:
        raise RequestError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if row["iterations"] > MAX_ITERATIONS:
        raise RequestError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    salted, salt = row["saltedPassword"], row["salt"]
    return _Change(name, mechanism, ScramCredential.of_salted(mechanism, salted, salt, row["iterations"]))
