"""Access control lists: bindings of a principal's permission to resources, and the filters that select them."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

CLUSTER_NAME = "kafka-cluster"  # the only resource of type CLUSTER
ANY_NAME = "*"
# An Acl's fields as named in Kafka's messages.
ACL_FIELDS = ("resourceType", "resourceName", "patternType", "principal", "host", "operation", "permissionType")


class ResourceType(IntEnum):
    """What an ACL protects."""

    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How an ACL names resources. ANY and MATCH exist only in filters."""

    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    """An operation that a client may want to perform."""

    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    """Whether an ACL allows or denies."""

    ANY = 1
    DENY = 2
    ALLOW = 3


class Acl(NamedTuple):
    """One binding: on these resources, this principal from this host may (or may not) do this."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int

    def row(self) -> dict[str, int | str]:
        """The fields by their names in Kafka's messages."""
        return dict(zip(ACL_FIELDS, self, strict=True))

    def covers(self, resource_type: int, name: str) -> bool:
        """Whether a resource falls under the binding's pattern."""
        if self.resource_type != resource_type:
            return False
        if self.pattern_type == PatternType.PREFIXED:
            return name.startswith(self.resource_name)
        return self.resource_name in (name, ANY_NAME)


class AclFilter(NamedTuple):
    """Selects bindings; None and ANY match everything."""

    resource_type: int
    resource_name: str | None
    pattern_type: int
    principal: str | None
    host: str | None
    operation: int
    permission: int

    def matches(self, acl: Acl) -> bool:
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self._matches_name(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
        )

    def _matches_name(self, acl: Acl) -> bool:
        if self.pattern_type == PatternType.MATCH:  # the bindings that apply to a resource with this name
            return self.resource_name is None or acl.covers(acl.resource_type, self.resource_name)
        is_pattern = self.pattern_type in (PatternType.ANY, acl.pattern_type)
        return is_pattern and self.resource_name in (None, acl.resource_name)
