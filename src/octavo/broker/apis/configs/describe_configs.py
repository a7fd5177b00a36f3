"""DescribeConfigs: lists the configs of topics, groups and the broker, with the source of each value."""

from __future__ import annotations

from collections.abc import Iterable

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.request import Answer, Later, Request
from octavo.broker.resources import ConfigResource, broker_configs, cluster_configs, group_configs, topic_configs
from octavo.broker.security.acls import Operation
from octavo.errors import OctavoError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

_KINDS = frozenset(ConfigResource)


def handle(request: Request, context: Context) -> Answer:
    resources = {(row["resourceType"], row["resourceName"]): row for row in request.body["resources"]}.values()
    unknown = [row["resourceType"] for row in resources if row["resourceType"] not in _KINDS]
    if unknown:
        error = error_fields(RequestError(ErrorCode.INVALID_REQUEST, f"Unexpected resource type {unknown[0]}"))
        return {"results": [{**error, **_named(row)} for row in resources]}
    return Later(lambda: {"results": [_answer(request, context, resource) for resource in resources]})


def _named(resource: Row) -> Row:
    return {"resourceType": resource["resourceType"], "resourceName": resource["resourceName"]}


def _answer(request: Request, context: Context, resource: Row) -> Row:
    row = _named(resource)
    try:
        found = _configs(request, context, resource["resourceType"], resource["resourceName"])
    except OctavoError as error:
        return {**row, **error_fields(error)}
    keys = frozenset(resource["configurationKeys"] or ())  # without any, all configs are listed
    body = request.body
    return {
        **row,
        "configs": [
            {
                **config,
                "synonyms": config["synonyms"] if body["includeSynonyms"] else [],
                "documentation": config["documentation"] if body["includeDocumentation"] else None,
            }
            for config in found
            if not keys or config["name"] in keys
        ],
    }


def _configs(request: Request, context: Context, kind: int, name: str) -> Iterable[Row]:
    if kind == ConfigResource.TOPIC:
        context.named_topic(request.client, Operation.DESCRIBE_CONFIGS, name)
        return topic_configs(context.log_dir.topic_overrides(name), context)
    if kind in (ConfigResource.BROKER, ConfigResource.BROKER_LOGGER, ConfigResource.CLIENT_METRICS):
        context.check_cluster(request.client, Operation.DESCRIBE_CONFIGS)
    if kind == ConfigResource.BROKER:
        if name not in ("", str(context.node_id)):
            problem = f"Unexpected broker id, expected {context.node_id} or empty string, but received {name}"
            raise RequestError(ErrorCode.INVALID_REQUEST, problem)
        return broker_configs(context) if name else cluster_configs(context)
    if kind == ConfigResource.GROUP:
        context.check_group(request.client, Operation.DESCRIBE_CONFIGS, name)
        if not name:
            raise RequestError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        return group_configs(name, context)
    return ()
