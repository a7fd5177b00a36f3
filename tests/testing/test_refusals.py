"""An error response for every API in every version, made from the schemas."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from octavo.format.messages.codec import decode, encode
from octavo.format.messages.schema import Array, Field, Row, Struct
from octavo.format.protocol import apis
from octavo.format.protocol.apis import APIS, Api
from octavo.testing.error_names import CODES
from octavo.testing.refusals import mirror

CODE = 42


def request(fields: tuple[Field, ...], version: int) -> Row:
    """A request with two elements in every array."""
    return {
        field.name: [_element(field.type, version, number) for number in (1, 2)]
        if isinstance(field.type, Array) and version in field.versions
        else field.default()
        for field in fields
    }


def _element(array: Array, version: int, number: int) -> Any:
    if isinstance(array.element, Struct):
        return request(array.element.fields, version)
    return {"string": f"name {number}", "int32": number, "uuid": bytes([number]) * 16}.get(array.element.name, number)


def codes(fields: tuple[Field, ...], row: Row, version: int) -> Iterator[int]:
    """The error codes that a version of a struct has."""
    for field in fields:
        if version not in field.versions:
            continue
        if field.name.lower().endswith("errorcode"):
            yield row[field.name]
        elif isinstance(field.type, Array) and isinstance(field.type.element, Struct):
            for element in row[field.name] or ():
                yield from codes(field.type.element.fields, element, version)


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_every_api_can_fail_in_every_version(api: Api) -> None:
    for version in api.versions:
        row = mirror(api.response.fields, api.request.fields, request(api.request.fields, version), version, CODE)
        answer = decode(api.response, version, encode(api.response, version, row))
        found = list(codes(api.response.fields, answer, version))
        assert found and set(found) == {CODE}, (version, answer)


def test_what_the_request_names_is_in_the_response() -> None:
    partitions = [{"index": number, "records": None} for number in (0, 3)]
    body = {"acks": -1, "topicData": [{"name": "orders", "partitionData": partitions}]}
    row = mirror(apis.PRODUCE.response.fields, apis.PRODUCE.request.fields, body, 9, 6)
    (topic,) = row["responses"]
    assert topic["name"] == "orders"
    assert [(one["index"], one["errorCode"]) for one in topic["partitionResponses"]] == [(0, 6), (3, 6)]
    body = {"groupInstanceId": None, "topicNames": ["a", "b"], "timeoutMs": 1}
    row = mirror(apis.DELETE_TOPICS.response.fields, apis.DELETE_TOPICS.request.fields, body, 4, 41)
    assert [(one["name"], one["errorCode"]) for one in row["responses"]] == [("a", 41), ("b", 41)]


@pytest.mark.kafka
def test_the_names_are_kafkas(jvm: ModuleType) -> None:
    errors = jvm.JClass("org.apache.kafka.common.protocol.Errors")
    assert {str(error.name()): int(error.code()) for error in errors.values()} == CODES
