"""The ACLs and SCRAM users: in Octavo's own file in each log directory or, until that exists, in a Kafka cluster's
metadata."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from octavo.broker.security.acls import ACL_FIELDS, Acl
from octavo.broker.security.scram import ScramCredential, ScramMechanism
from octavo.format.names import SECURITY_STORE
from octavo.storage.directory.shared_values import SharedValues
from octavo.storage.files.shared_file import SharedFile
from octavo.storage.log_manager import LogManager

if TYPE_CHECKING:
    from octavo.format.messages.records import MetadataRecord

_SCRAM, _ACL, _REMOVE_ACL, _REMOVE_SCRAM = 11, 18, 19, 22  # the types of metadata records
_ACL_TYPES = (int, str, int, str, str, int, int)

UserCredentials = dict[ScramMechanism, dict[str, ScramCredential]]


class Security(NamedTuple):
    """The ACLs and SCRAM users; replaced, never modified."""

    acls: frozenset[Acl]
    users: UserCredentials


class SecurityStore(SharedValues[Security]):
    """The ACLs and users in force."""

    def __init__(self, log_manager: LogManager) -> None:
        super().__init__(log_manager.roots, _FILE, _replay)

    def scram(self, mechanism: ScramMechanism) -> dict[str, ScramCredential]:
        """The users of a mechanism; replaced, never modified."""
        return self.values.users[mechanism]

    def change_acls(self, change: Callable[[frozenset[Acl]], frozenset[Acl]]) -> None:
        self.change(lambda security: security._replace(acls=change(security.acls)))

    def change_users(self, change: Callable[[UserCredentials], None]) -> None:
        """Apply `change` to a copy of the users, then put the copy into force."""

        def changed(security: Security) -> Security:
            users = {mechanism: dict(known) for mechanism, known in security.users.items()}
            change(users)
            return security._replace(users=users)

        self.change(changed)


def _replay(records: Iterator[MetadataRecord]) -> Security:
    acls: dict[object, Acl] = {}
    users: UserCredentials = {mechanism: {} for mechanism in ScramMechanism}
    for record in records:
        kind, data = record.type.id, record.data
        if kind == _ACL:
            acls[data["id"]] = Acl(*(data[name] for name in ACL_FIELDS))
        elif kind == _REMOVE_ACL:
            acls.pop(data["id"], None)
        elif kind == _SCRAM:
            users[ScramMechanism(data["mechanism"])][data["name"]] = ScramCredential(
                bytes(data["salt"]), bytes(data["storedKey"]), bytes(data["serverKey"]), data["iterations"]
            )
        elif kind == _REMOVE_SCRAM:
            users[ScramMechanism(data["mechanism"])].pop(data["name"], None)
    return Security(frozenset(acls.values()), users)


def _to_fields(security: Security) -> dict[str, Any]:
    users = {
        mechanism.mechanism_name: {name: _credential_row(found) for name, found in sorted(credentials.items())}
        for mechanism, credentials in security.users.items()
    }
    return {"acls": [acl.row() for acl in sorted(security.acls)], "users": users}


def _of_fields(fields: dict[str, Any]) -> Security:
    users = {
        mechanism: {name: _credential(row) for name, row in fields["users"][mechanism.mechanism_name].items()}
        for mechanism in ScramMechanism
    }
    return Security(frozenset(_acl(row) for row in fields["acls"]), users)


def _acl(row: dict[str, Any]) -> Acl:
    acl = Acl(*(row[name] for name in ACL_FIELDS))
    for name, value, kind in zip(ACL_FIELDS, acl, _ACL_TYPES, strict=True):
        if type(value) is not kind:
            raise ValueError(f"{name} of an ACL is {value!r}, expected {kind.__name__}")
    return acl


def _credential_row(credential: ScramCredential) -> dict[str, str | int]:
    salt, stored_key, server_key = (base64.b64encode(part).decode() for part in credential[:3])
    return {"salt": salt, "storedKey": stored_key, "serverKey": server_key, "iterations": credential.iterations}


def _credential(row: dict[str, Any]) -> ScramCredential:
    salt, stored_key, server_key = (
        base64.b64decode(row[name], validate=True) for name in ("salt", "storedKey", "serverKey")
    )
    return ScramCredential(salt, stored_key, server_key, int(row["iterations"]))


_FILE = SharedFile(SECURITY_STORE, _to_fields, _of_fields, is_secret=True)
