"""CreateTopics: creates topics with their configs.

Unlike Kafka: the limit of 10,000 new partitions applies to each topic, not to the whole request, since topics are
created one after the other.
"""

from __future__ import annotations

from collections import Counter

from octavo.broker.context import Context
from octavo.broker.errors import RequestError, error_fields
from octavo.broker.request import Request, later
from octavo.broker.resources import topic_configs
from octavo.broker.security.acls import Operation
from octavo.errors import InvalidPartitionsError, OctavoError, PolicyViolationError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode

MOST_PARTITIONS = 10_000
_DEFAULT = -1
_BAD_FACTOR = "Replication factor must be larger than 0, or -1 to use the default value."


@later
def handle(request: Request, context: Context) -> Row:
    once, refused = named_once(request.body["topics"])
    return {"topics": refused + [_create(request, context, row) for row in once]}


def named_once(topics: list[Row]) -> tuple[list[Row], list[Row]]:
    """The rows whose topic is named only once, and the answers to the others: one per name."""
    asked = Counter(row["name"] for row in topics)
    error = error_fields(RequestError(ErrorCode.INVALID_REQUEST, "Duplicate topic name."))
    refused = [{"name": name, **error} for name, count in asked.items() if count > 1]
    return [row for row in topics if asked[row["name"]] == 1], refused


def _create(request: Request, context: Context, row: Row) -> Row:
    name, client, authorizer = row["name"], request.client, context.authorizer
    try:
        if not authorizer.allows_cluster(client, Operation.CREATE) and not authorizer.allows_topic(
            client, Operation.CREATE, name
        ):
            raise RequestError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
        context.check_writable(Operation.CREATE)
        context.log_dir.check_topic(name, 1, {})
        configs = {config["name"]: config["value"] for config in row["configs"]}
        nulls = [config["name"] for config in row["configs"] if config["value"] is None]
        if nulls:
            problem = f"Null value not supported for topic configs: {','.join(nulls)}"
            raise RequestError(ErrorCode.INVALID_CONFIG, problem)
        context.log_dir.check_topic(name, 1, configs)
        partitions = _partitions(row, context)
        if partitions > MOST_PARTITIONS:
            raise PolicyViolationError("Excessively large number of partitions per request.")
        create = context.log_dir.check_topic if request.body["validateOnly"] else context.log_dir.create_topic
        topic_id = create(name, partitions, configs)
    except OctavoError as error:
        return {"name": name, "configs": [], **error_fields(error)}
    created: Row = {"name": name, "errorMessage": None, "topicId": topic_id}
    if not authorizer.allows_topic(client, Operation.DESCRIBE_CONFIGS, name):
        hidden = {"numPartitions": -1, "replicationFactor": -1, "configs": []}
        return {**created, "topicConfigErrorCode": ErrorCode.TOPIC_AUTHORIZATION_FAILED, **hidden}
    shown = [
        {name: config[name] for name in ("name", "value", "readOnly", "configSource") if name in config}
        for config in topic_configs(configs, context)
    ]
    return {**created, "numPartitions": partitions, "replicationFactor": 1, "configs": shown}


def _partitions(row: Row, context: Context) -> int:
    """The number of partitions; raises if it is invalid, or if a single broker cannot have the replicas."""
    count, factor, assignments = row["numPartitions"], row["replicationFactor"], row["assignments"]
    if assignments:
        if factor != _DEFAULT:
            problem = "A manual partition assignment was specified, but replication factor was not set to -1."
            raise RequestError(ErrorCode.INVALID_REQUEST, problem)
        if count != _DEFAULT:
            problem = "A manual partition assignment was specified, but numPartitions was not set to -1."
            raise RequestError(ErrorCode.INVALID_REQUEST, problem)
        if any(assignment["brokerIds"] != [context.node_id] for assignment in assignments):
            problem = f"Each partition must be assigned to broker {context.node_id} alone: it is the only broker."
            raise RequestError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
        if sorted(assignment["partitionIndex"] for assignment in assignments) != list(range(len(assignments))):
            problem = "partitions should be a consecutive 0-based integer sequence."
            raise RequestError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
        return len(assignments)
    if factor < _DEFAULT or factor == 0:
        raise RequestError(ErrorCode.INVALID_REPLICATION_FACTOR, _BAD_FACTOR)
    if factor > 1:
        problem = f"Unable to replicate the partition {factor} time(s): The target replication factor of {factor} "
        problem += "cannot be reached because only 1 broker(s) are registered."
        raise RequestError(ErrorCode.INVALID_REPLICATION_FACTOR, problem)
    if count < _DEFAULT or count == 0:
        raise InvalidPartitionsError("Number of partitions was set to an invalid non-positive value.")
    return context.config.num_partitions if count == _DEFAULT else int(count)
