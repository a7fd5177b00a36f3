"""The resources whose configs can be changed: topics, groups, this broker, and all brokers of its cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from octavo.broker.context import Context
from octavo.broker.errors import RequestError
from octavo.broker.request import Request
from octavo.broker.resources import ConfigResource, cluster_values
from octavo.broker.security.acls import Operation
from octavo.config.dynamic import MIN_INSYNC_REPLICAS, fixed, needs_broker, needs_listener, of_listener
from octavo.config.kinds import LIST, Given, as_text
from octavo.config.table import BROKER_CONFIGS, SYNONYMS, TOPIC_CONFIGS, find
from octavo.errors import ConfigError, UnknownTopicOrPartitionError
from octavo.format.messages.schema import Row
from octavo.format.protocol.error_codes import ErrorCode
from octavo.storage.directory.topic_admin import check_topic_name

Changes = Mapping[str, str | None]

_MOST_DIGITS = 10  # in a broker's id; int() rejects thousands of digits


class Alterable(Protocol):
    """A resource whose configs can be changed; changing a config to None removes it."""

    @property
    def own(self) -> Mapping[str, Given]:
        """The configs that were set on the resource itself."""

    def elements(self, name: str, verb: str) -> list[str]:
        """The elements of a list config; raises RequestError for others. `verb` is the operation, for the message."""

    def alter(self, changes: Changes, *, dry_run: bool) -> None: ...


def alterable(request: Request, context: Context, row: Row) -> Alterable:
    """The resource that a row of a request names."""
    kind, name = row["resourceType"], row["resourceName"]
    if kind == ConfigResource.TOPIC:
        return AlterableTopic(request, context, name)
    if kind == ConfigResource.GROUP:
        return AlterableGroup(request, context, name)
    if kind != ConfigResource.BROKER:
        context.check_cluster(request.client, Operation.ALTER_CONFIGS)
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")
    if name and not (name.isdecimal() and len(name) <= _MOST_DIGITS):
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    if name and int(name) != context.node_id:
        problem = f"Unexpected broker id, expected {context.node_id}, but received {name}"
        raise RequestError(ErrorCode.INVALID_REQUEST, problem)
    return AlterableBroker(request, context, of_cluster=not name)


class AlterableTopic:
    def __init__(self, request: Request, context: Context, topic: str) -> None:
        self._logs = context.log_dir
        self._missing: UnknownTopicOrPartitionError | None = None
        try:
            context.topic(request.client, Operation.ALTER_CONFIGS, topic)
        except UnknownTopicOrPartitionError as error:
            self._missing = error
        self._topic = topic

    @property
    def own(self) -> Mapping[str, Given]:
        return self._logs.topic_overrides(self._topic)

    def elements(self, name: str, verb: str) -> list[str]:
        key = TOPIC_CONFIGS.get(name)
        if key is None or key.kind is not LIST:
            raise RequestError(ErrorCode.INVALID_CONFIG, f"Can't {verb} to key {name} because its type is not LIST.")
        return list(getattr(self._logs.config(self._topic), key.attribute))

    def alter(self, changes: Changes, *, dry_run: bool) -> None:
        if not self._topic:
            raise RequestError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        check_topic_name(self._topic)
        # As in Kafka, a config that no topic has can be reset.
        changes = {name: value for name, value in changes.items() if value is not None or name in TOPIC_CONFIGS}
        self._logs.check_configs(self._topic, changes)
        if self._missing is not None:  # Kafka looks at the values first
            raise self._missing
        if not dry_run:
            self._logs.alter_configs(self._topic, changes)


class AlterableGroup:
    def __init__(self, request: Request, context: Context, group_id: str) -> None:
        context.check_group(request.client, Operation.ALTER_CONFIGS, group_id)
        context.check_writable(Operation.ALTER_CONFIGS)
        self._configs = context.groups.configs
        self._group_id = group_id

    @property
    def own(self) -> Mapping[str, Given]:
        return self._configs.values.get(self._group_id, {})

    def elements(self, name: str, verb: str) -> list[str]:
        raise RequestError(ErrorCode.INVALID_CONFIG, f"Can't {verb} to key {name} because its type is not LIST.")

    def alter(self, changes: Changes, *, dry_run: bool) -> None:
        if not self._group_id:
            raise RequestError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
        self._configs.alter(self._group_id, changes, dry_run=dry_run)


class AlterableBroker:
    """This broker, or all brokers of the cluster."""

    def __init__(self, request: Request, context: Context, *, of_cluster: bool) -> None:
        self._client = request.client
        self._context = context
        self._of_cluster = of_cluster

    @property
    def own(self) -> Mapping[str, Given]:
        return cluster_values(self._context) if self._of_cluster else self._context.log_dir.broker_sources.of_broker

    def elements(self, name: str, verb: str) -> list[str]:
        if name not in BROKER_CONFIGS and name not in SYNONYMS:
            raise RequestError(ErrorCode.INVALID_CONFIG, f"Unknown config name: {name}")
        key = find(name)
        if key.kind is not LIST:
            problem = f"Config value {verb.lower()} is not allowed for config key: {name}"
            raise RequestError(ErrorCode.INVALID_CONFIG, problem)
        value = self.own.get(name, key.default)
        return as_text(value).split(",") if value else []

    def alter(self, changes: Changes, *, dry_run: bool) -> None:
        self._check({name: value for name, value in {**self.own, **changes}.items() if value is not None})
        try:
            self._context.log_dir.alter_broker_configs(changes, of_cluster=self._of_cluster, dry_run=True)
        except ConfigError as error:  # Kafka's code for an invalid config of a broker
            raise RequestError(ErrorCode.INVALID_REQUEST, str(error)) from None
        self._context.check_cluster(self._client, Operation.ALTER_CONFIGS)
        if MIN_INSYNC_REPLICAS in changes and not self._of_cluster:
            problem = f"Broker-level {MIN_INSYNC_REPLICAS} cannot be altered while ELR is enabled."
            raise RequestError(ErrorCode.INVALID_CONFIG, problem)
        if MIN_INSYNC_REPLICAS in changes and changes[MIN_INSYNC_REPLICAS] is None:
            problem = f"Cluster-level {MIN_INSYNC_REPLICAS} cannot be removed while ELR is enabled."
            raise RequestError(ErrorCode.INVALID_CONFIG, problem)
        if not dry_run:
            self._context.log_dir.alter_broker_configs(changes, of_cluster=self._of_cluster)

    def _check(self, names: Iterable[str]) -> None:
        _refuse(names, fixed, "Cannot update these configs dynamically")
        problem = "These security configs can be dynamically updated only per-listener using the listener prefix"
        _refuse(names, needs_listener, problem)
        if self._of_cluster:
            problem = "Cannot update these configs at default cluster level, broker id must be specified"
            _refuse(names, needs_broker, problem)
        _refuse(names, of_listener, "Octavo reads listener configs only when it starts, and cannot update these")


def _refuse(names: Iterable[str], is_wrong: Callable[[str], bool], problem: str) -> None:
    wrong = ", ".join(sorted(filter(is_wrong, names)))
    if wrong:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"{problem}: [{wrong}]")
