"""AlterClientQuotas: sets and removes the quotas of entities.

Unlike Kafka: controller_mutation_rate and connection_creation_rate are stored, but not enforced: this broker has no
controller to protect, and limits how many connections are open (max.connections), not how fast they are made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.quotas.entities import Entity, Quotas, check_entity, check_value, entity_of
from octavo.broker.request import Answer, Later, Request
from octavo.broker.security.acls import Operation
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode
from octavo.storage.directory.shared_values import without_empty


def handle(request: Request, context: Context) -> Answer:
    entries = [(_entity(row), row["ops"]) for row in request.body["entries"]]
    try:
        context.check_cluster(request.client, Operation.ALTER_CONFIGS)
    except RequestError as error:
        return _answer((entity, error) for entity, _ in entries)
    return Later(lambda: _alter(context, entries, dry_run=request.body["validateOnly"]))


def _entity(row: Row) -> Entity:
    return entity_of({one["entityType"]: one["entityName"] for one in row["entity"]})


def _alter(context: Context, entries: list[tuple[Entity, list[Row]]], *, dry_run: bool) -> Row:
    outcomes: dict[Entity, OctavoError | None] = {}

    def change(quotas: Quotas) -> Quotas:
        changed = dict(quotas)
        for entity, operations in entries:
            try:
                if entity in outcomes:
                    raise RequestError(ErrorCode.INVALID_REQUEST, "Ignoring duplicate entity")
                changed[entity] = _changed(quotas.get(entity, {}), entity, operations)
            except RequestError as error:
                outcomes[entity] = error
            else:
                outcomes[entity] = None
        return without_empty(changed)

    try:
        context.quotas.change(change, dry_run=dry_run)
    except OctavoError as error:
        outcomes = dict.fromkeys(outcomes, error)
    return _answer(outcomes.items())


def _changed(values: dict[str, float], entity: Entity, operations: list[Row]) -> dict[str, float]:
    """An entity's quotas after the operations; raises RequestError if one of them is not allowed."""
    twice = [key for key, count in Counter(row["key"] for row in operations).items() if count > 1]
    if twice:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Duplicate quota key {twice[0]}")
    keys, changed = check_entity(entity), dict(values)
    for row in operations:
        if row["remove"]:
            changed.pop(row["key"], None)
        else:
            check_value(keys, row["key"], row["value"])
            changed[row["key"]] = row["value"]
    return changed


def _answer(outcomes: Iterable[tuple[Entity, OctavoError | None]]) -> Row:
    return {
        "entries": [
            {
                "errorMessage": None,
                **({} if error is None else error_fields(error)),
                "entity": [{"entityType": kind, "entityName": name} for kind, name in entity],
            }
            for entity, error in outcomes
        ]
    }
