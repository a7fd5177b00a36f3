"""The response that gives an error for everything that a request names, for any API and version.

Kafka's responses repeat what the request names: a topic of the request is a topic of the response, with its partitions,
each with an error code. So the response follows from the two schemas and the request.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from octavo.broker.errors import RequestError
from octavo.broker.handlers import HANDLERS
from octavo.broker.request import Request
from octavo.format.messages.schema import Array, Field, Primitive, Row, Struct
from octavo.format.protocol.apis import FETCH, METADATA
from octavo.format.protocol.error_codes import ErrorCode
from octavo.testing.asked import Asked

_OF_SESSIONS = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)


def refusal(asked: Asked, code: int) -> Row:
    """The response with this error code wherever there is room for one."""
    if asked.api is FETCH:
        return _fetch(asked, code)
    if asked.api is METADATA:
        return _metadata(asked, code)
    version = asked.header.api_version
    return mirror(asked.api.response.fields, asked.api.request.fields, asked.body, version, code)


def mirror(response: Iterable[Field], request: Iterable[Field], body: Row, version: int, code: int) -> Row:
    """A struct of a response, made from the struct of the request that it answers."""
    row: Row = {}
    asked = {field.name: field for field in request if version in field.versions}
    for field in response:
        if version not in field.versions:
            continue
        if _is_code(field):
            row[field.name] = code
        elif field.name in asked and field.type == asked[field.name].type and isinstance(field.type, Primitive):
            row[field.name] = body[field.name]
        elif isinstance(field.type, Array) and isinstance(field.type.element, Struct) and _has_code(field.type.element):
            row[field.name] = _rows(field, asked, body, version, code)
    return row


def _rows(field: Field, asked: dict[str, Field], body: Row, version: int, code: int) -> list[Row]:
    """An array of a response: one struct for each element of the request's array."""
    arrays = [other for other in asked.values() if isinstance(other.type, Array)]
    source = next((other for other in arrays if other.name == field.name), arrays[0] if arrays else None)
    if source is None:
        return []
    assert isinstance(field.type, Array) and isinstance(field.type.element, Struct) and isinstance(source.type, Array)
    own, element = field.type.element.fields, source.type.element
    values: list[Any] = body[source.name] or []
    if isinstance(element, Struct):
        return [mirror(own, element.fields, value, version, code) for value in values]
    # The element is a name or a number, and becomes the first field of its type.
    name = next(one.name for one in own if one.type == element and version in one.versions and not _is_code(one))
    return [{**mirror(own, (), {}, version, code), name: value} for value in values]


def _is_code(field: Field) -> bool:
    return field.name.lower().endswith("errorcode")


def _has_code(struct: Struct) -> bool:
    return any(
        _is_code(field)
        or (isinstance(field.type, Array) and isinstance(field.type.element, Struct) and _has_code(field.type.element))
        for field in struct.fields
    )


def _fetch(asked: Asked, code: int) -> Row:
    """A fetch may continue a session, which knows the partitions; the top-level error code is for session errors."""
    if code in _OF_SESSIONS:
        return {"errorCode": code}
    try:
        session = asked.context.sessions.begin(asked.body, asked.header.api_version)
    except RequestError as error:
        return {"errorCode": error.code}
    topics: dict[bytes | str, Row] = {}
    for wanted in session.partitions.values():
        wanted.known_marks = None  # so that the next answer includes it
        topic = topics.setdefault(
            wanted.topic, {"topicId" if session.is_by_id else "topic": wanted.topic, "partitions": []}
        )
        failed = {"partitionIndex": wanted.partition, "errorCode": code, "highWatermark": -1, "records": b""}
        topic["partitions"].append(failed)
    return {"sessionId": session.session_id, "responses": list(topics.values())}


def _metadata(asked: Asked, code: int) -> Row:
    """The brokers are still listed: only the topics fail, and none is created."""
    body = {**asked.body, "allowAutoTopicCreation": False}
    request = Request(asked.header.api_version, asked.header.client_id, body, asked.connection.peer)
    row = HANDLERS[METADATA.key](request, asked.context)
    assert isinstance(row, dict)
    return {**row, "topics": [{**topic, "errorCode": code, "partitions": []} for topic in row["topics"]]}
