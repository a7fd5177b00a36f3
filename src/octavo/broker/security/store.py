"""Octavo's own file of ACLs and SCRAM users in a log directory's root, and those in a Kafka cluster's metadata."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from octavo.broker.security.acls import Acl
from octavo.broker.security.scram import ScramCredential, ScramMechanism
from octavo.format.names import SECURITY_STORE
from octavo.storage.directory.log_roots import live, replace_everywhere
from octavo.storage.files.shared_file import SharedFile
from octavo.storage.log_manager import LogManager
from octavo.storage.topics.metadata_configs import metadata_records
from octavo.system.filesystem import FileSystem

_SCRAM, _ACL, _REMOVE_ACL, _REMOVE_SCRAM = 11, 18, 19, 22  # the types of metadata records
_ACL_FIELDS = ("resourceType", "resourceName", "patternType", "principal", "host", "operation", "permissionType")
_ACL_TYPES = (int, str, int, str, str, int, int)

UserCredentials = dict[ScramMechanism, dict[str, ScramCredential]]


class _Stored(NamedTuple):
    """The file's content."""

    acls: frozenset[Acl]
    users: UserCredentials


class SecurityStore:
    """The ACLs and users in force. Thread-safe: a change is written to every directory, then seen by all.

    Until the first change it holds what the cluster's metadata has, so that a directory that Kafka served keeps its
    users and ACLs. Kafka does not see changes made here.
    """

    def __init__(self, log_manager: LogManager) -> None:
        self._log_manager = log_manager
        self._lock = threading.Lock()
        self._on_acls: list[Callable[[Iterable[Acl]], None]] = []
        self.acls: frozenset[Acl] = frozenset()
        self._users: UserCredentials = {mechanism: {} for mechanism in ScramMechanism}
        roots = [root.path for root in live(log_manager.roots)]
        files = log_manager.environment.filesystem
        self._revision = 0
        stored = _FILE.latest(files, roots)
        if stored is not None:
            self._revision, (self.acls, self._users) = stored
        else:
            for root in roots:
                self._take_over(files, root)

    def on_acls(self, listener: Callable[[Iterable[Acl]], None]) -> None:
        """Call a function with the ACLs, now and after each change."""
        self._on_acls.append(listener)
        listener(self.acls)

    def scram(self, mechanism: ScramMechanism) -> dict[str, ScramCredential]:
        """The users of a mechanism; replaced, never modified."""
        return self._users[mechanism]

    def change_acls(self, change: Callable[[frozenset[Acl]], frozenset[Acl]]) -> None:
        with self._lock:
            changed = change(self.acls)
            if changed != self.acls:
                self._write(changed, self._users)
            self.acls = changed
            for listener in self._on_acls:
                listener(changed)

    def change_users(self, change: Callable[[UserCredentials], None]) -> None:
        """Let `change` alter a copy of the users, then make it effective."""
        with self._lock:
            changed = {mechanism: dict(users) for mechanism, users in self._users.items()}
            change(changed)
            if changed != self._users:
                self._write(self.acls, changed)
            self._users = changed

    def _write(self, acls: frozenset[Acl], users: UserCredentials) -> None:
        content = _FILE.encode(self._revision + 1, _Stored(acls, users))
        replace_everywhere(self._log_manager.roots, SECURITY_STORE, content, is_secret=True)
        self._revision += 1

    def _take_over(self, files: FileSystem, root: Path) -> None:
        acls: dict[object, Acl] = {}
        for record in metadata_records(files, root):
            data = record.data
            if record.type.id == _ACL:
                acls[data["id"]] = Acl(*(data[name] for name in _ACL_FIELDS))
            elif record.type.id == _REMOVE_ACL:
                acls.pop(data["id"], None)
            elif record.type.id == _SCRAM:
                credential = ScramCredential(
                    bytes(data["salt"]), bytes(data["storedKey"]), bytes(data["serverKey"]), data["iterations"]
                )
                self._users[ScramMechanism(data["mechanism"])][data["name"]] = credential
            elif record.type.id == _REMOVE_SCRAM:
                self._users[ScramMechanism(data["mechanism"])].pop(data["name"], None)
        self.acls |= frozenset(acls.values())


def _to_fields(stored: _Stored) -> dict[str, Any]:
    users = {
        mechanism.mechanism_name: {name: _credential_row(found) for name, found in sorted(credentials.items())}
        for mechanism, credentials in stored.users.items()
    }
    return {"acls": [dict(zip(_ACL_FIELDS, acl, strict=True)) for acl in sorted(stored.acls)], "users": users}


def _of_fields(fields: dict[str, Any]) -> _Stored:
    users = {
        mechanism: {name: _credential(row) for name, row in fields["users"][mechanism.mechanism_name].items()}
        for mechanism in ScramMechanism
    }
    return _Stored(frozenset(_acl(row) for row in fields["acls"]), users)


def _acl(row: dict[str, Any]) -> Acl:
    acl = Acl(*(row[name] for name in _ACL_FIELDS))
    for name, value, kind in zip(_ACL_FIELDS, acl, _ACL_TYPES, strict=True):
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


_FILE = SharedFile(SECURITY_STORE, _to_fields, _of_fields)
