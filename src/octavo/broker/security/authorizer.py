"""Decides who may do what, like Kafka's StandardAuthorizer."""

from __future__ import annotations

from collections.abc import Iterable

from octavo.broker.security.acls import ANY_NAME, CLUSTER_NAME, Acl, Operation, PatternType, Permission, ResourceType
from octavo.broker.security.principals import ANYBODY, Client
from octavo.broker.security.store import SecurityStore

# For each operation, those whose ALLOW implies it. A DENY implies nothing.
_IMPLIED_BY = {
    Operation.DESCRIBE: {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER},
    Operation.DESCRIBE_CONFIGS: {Operation.ALTER_CONFIGS},
}
_ON_TOPICS = (
    *(Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DESCRIBE, Operation.DELETE, Operation.ALTER),
    *(Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS),
)
_ON_GROUPS = (
    *(Operation.READ, Operation.DESCRIBE, Operation.DELETE),
    *(Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS),
)
_ON_CLUSTERS = (
    *(Operation.CREATE, Operation.CLUSTER_ACTION, Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS),
    *(Operation.IDEMPOTENT_WRITE, Operation.ALTER, Operation.DESCRIBE),
)


class Authorizer:
    """Unless `enabled`, everybody may do everything."""

    def __init__(
        self, security: SecurityStore, *, enabled: bool, super_users: Iterable[str], allow_if_no_acl: bool
    ) -> None:
        self.enabled = enabled
        self._security = security
        self._super_users = frozenset(super_users)
        self._allow_if_no_acl = allow_if_no_acl

    def allows(self, client: Client, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        """Whether a client may perform the operation on the resource: a DENY wins over every ALLOW."""
        if not self.enabled or client.principal in self._super_users:
            return True
        covering = [acl for acl in self._security.values.acls if acl.covers(resource_type, name)]
        if not covering:
            return self._allow_if_no_acl
        about = [acl for acl in covering if _is_about(acl, client)]
        if any(acl.permission == Permission.DENY and _is_for(acl, operation) for acl in about):
            return False
        return any(acl.permission == Permission.ALLOW and _is_for(acl, operation) for acl in about)

    def allows_topic(self, client: Client, operation: Operation, topic: str) -> bool:
        return self.allows(client, operation, ResourceType.TOPIC, topic)

    def allows_cluster(self, client: Client, operation: Operation) -> bool:
        return self.allows(client, operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def allows_some(self, client: Client, operation: Operation, resource_type: ResourceType) -> bool:
        """Whether there can be a resource of this type on which the client may perform the operation."""
        if self.allows(client, operation, resource_type, "hardcode"):  # the unlikely name that Kafka tries too
            return True
        about = [
            acl
            for acl in self._security.values.acls
            if acl.resource_type == resource_type
            and _is_about(acl, client)
            and acl.operation in (operation, Operation.ALL)
        ]
        denied = {(acl.pattern_type, acl.resource_name) for acl in about if acl.permission == Permission.DENY}
        if (PatternType.LITERAL, ANY_NAME) in denied:
            return False
        return any(acl.permission == Permission.ALLOW and not _is_denied(acl, denied) for acl in about)

    def allowed_on_topic(self, client: Client, topic: str) -> int:
        """The operations that the client may perform, one bit each."""
        return sum(1 << operation for operation in _ON_TOPICS if self.allows_topic(client, operation, topic))

    def allowed_on_group(self, client: Client, group_id: str) -> int:
        """Like `allowed_on_topic`, for a group."""
        return sum(
            1 << operation for operation in _ON_GROUPS if self.allows(client, operation, ResourceType.GROUP, group_id)
        )

    def allowed_on_cluster(self, client: Client) -> int:
        """Like `allowed_on_topic`, for the cluster; a client that may not describe it sees nothing."""
        if not self.allows_cluster(client, Operation.DESCRIBE):
            return 0
        return sum(1 << operation for operation in _ON_CLUSTERS if self.allows_cluster(client, operation))


def _is_about(acl: Acl, client: Client) -> bool:
    return acl.principal in (client.principal, ANYBODY) and acl.host in (client.host, ANY_NAME)


def _is_for(acl: Acl, operation: Operation) -> bool:
    if acl.operation in (operation, Operation.ALL):
        return True
    return acl.permission == Permission.ALLOW and acl.operation in _IMPLIED_BY.get(operation, ())


def _is_denied(acl: Acl, denied: set[tuple[int, str]]) -> bool:
    """Whether everything that an ALLOW covers is denied."""
    name, is_literal = acl.resource_name, acl.pattern_type == PatternType.LITERAL
    if is_literal and name == ANY_NAME:
        return False
    if is_literal and (PatternType.LITERAL, name) in denied:
        return True
    return any((PatternType.PREFIXED, name[:end]) in denied for end in range(1, len(name) + 1))
