"""Octavo's own file of ACLs and SCRAM users in a log directory's root, and those in a Kafka cluster's metadata."""

from __future__ import annotations

import base64
import binascii
import json
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from octavo.broker.security.acls import Acl
from octavo.broker.security.scram import ScramCredential, ScramMechanism
from octavo.errors import CorruptionError, KafkaStorageError
from octavo.format.names import SECURITY_STORE
from octavo.storage.directory.log_roots import live
from octavo.storage.files.small_file import replace_file
from octavo.storage.log_manager import LogManager
from octavo.storage.topics.metadata_configs import metadata_records
from octavo.system.filesystem import FileSystem

_VERSION = 0
_SCRAM, _ACL, _REMOVE_ACL, _REMOVE_SCRAM = 11, 18, 19, 22  # the types of metadata records
_ACL_FIELDS = ("resourceType", "resourceName", "patternType", "principal", "host", "operation", "permissionType")
_ACL_TYPES = (int, str, int, str, str, int, int)

UserCredentials = dict[ScramMechanism, dict[str, ScramCredential]]


class Stored(NamedTuple):
    """The file's content; every change increments the revision."""

    revision: int
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
        stored = [_read(files, root / SECURITY_STORE) for root in roots if files.exists(root / SECURITY_STORE)]
        if stored:  # a disk that was away may have an older file
            self._revision, self.acls, self._users = max(stored, key=lambda found: found.revision)
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
        self._revision += 1
        content, written = encode(Stored(self._revision, acls, users)), 0
        for root in live(self._log_manager.roots):
            with root.unless_offline():
                replace_file(root.files, root.path / SECURITY_STORE, content, is_secret=True)
                written += 1
        if not written:
            raise KafkaStorageError("all log directories are offline: users and ACLs cannot be changed")

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


def encode(stored: Stored) -> bytes:
    """The file's bytes, in order."""
    users = {
        mechanism.mechanism_name: {name: _credential_row(found) for name, found in sorted(credentials.items())}
        for mechanism, credentials in stored.users.items()
    }
    acls = [dict(zip(_ACL_FIELDS, acl, strict=True)) for acl in sorted(stored.acls)]
    content = {"version": _VERSION, "revision": stored.revision, "acls": acls, "users": users}
    return (json.dumps(content, indent=1) + "\n").encode()


def decode(data: bytes) -> Stored:
    """Decode the file's bytes."""
    try:
        content = json.loads(data)
        if content["version"] != _VERSION:
            raise CorruptionError(f"version {content['version']!r}, expected {_VERSION}")
        revision, acls = int(content["revision"]), frozenset(_acl(row) for row in content["acls"])
        users = {
            mechanism: {name: _credential(row) for name, row in content["users"][mechanism.mechanism_name].items()}
            for mechanism in ScramMechanism
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, binascii.Error) as error:
        raise CorruptionError(f"not a file of ACLs and users: {error!r}") from None
    return Stored(revision, acls, users)


def _read(files: FileSystem, path: Path) -> Stored:
    try:
        return decode(files.read_bytes(path))
    except CorruptionError as error:
        raise error.at(path=str(path)) from None


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
