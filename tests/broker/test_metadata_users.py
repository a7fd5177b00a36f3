"""Users, ACLs and quotas that were set in a Kafka cluster hold for the broker that takes over its directory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from octavo.broker.quotas.entities import entity_of
from octavo.broker.quotas.store import QuotaStore
from octavo.broker.security.acls import Acl
from octavo.broker.security.scram import ScramCredential, ScramMechanism
from octavo.broker.security.store import SecurityStore
from octavo.storage.log_manager import LogManager
from tests.storage.metadata_log import BROKER, CONFIG, write_records
from tests.storage.worlds import World

SCRAM, QUOTA, ACL, REMOVE_ACL, REMOVE_SCRAM = 11, 14, 18, 19, 22
FIRST, SECOND = bytes([1] * 16), bytes([2] * 16)


def scram(name: str) -> dict[str, object]:
    row = {"salt": b"salt", "storedKey": b"stored", "serverKey": b"server", "iterations": 4096}
    return {"name": name, "mechanism": int(ScramMechanism.SCRAM_SHA_256), **row}


def acl(uuid: bytes, topic: str) -> dict[str, object]:
    row = {"resourceType": 2, "patternType": 3, "principal": "User:a", "host": "*", "operation": 3, "permissionType": 3}
    return {"id": uuid, "resourceName": topic, **row}


def quota(client_id: str, *, remove: bool = False) -> dict[str, object]:
    entity = [{"entityType": "client-id", "entityName": client_id}]
    return {"entity": entity, "key": "producer_byte_rate", "value": 10.0, "remove": remove}


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[LogManager]:
    LogManager(tmp_path, environment=World().environment, create=True).close()
    interval = {"resourceType": BROKER, "resourceName": "", "name": "log.index.interval.bytes", "value": "7"}
    write_records(
        tmp_path,
        *((SCRAM, scram(name)) for name in ("alice", "bob")),
        (REMOVE_SCRAM, {"name": "bob", "mechanism": int(ScramMechanism.SCRAM_SHA_256)}),
        *((ACL, acl(uuid, topic)) for uuid, topic in ((FIRST, "kept"), (SECOND, "gone"))),
        (REMOVE_ACL, {"id": SECOND}),
        (CONFIG, interval),
        (QUOTA, quota("slow")),
        (QUOTA, quota("fast")),
        (QUOTA, quota("fast", remove=True)),
    )
    with LogManager(tmp_path, environment=World().environment, only=()) as opened:
        yield opened


def test_users_acls_and_quotas_hold_as_the_log_left_them(logs: LogManager) -> None:
    security = logs.shared(SecurityStore).values
    assert security.users[ScramMechanism.SCRAM_SHA_256] == {
        "alice": ScramCredential(b"salt", b"stored", b"server", 4096)
    }
    assert security.acls == {Acl(2, "kept", 3, "User:a", "*", 3, 3)}
    assert logs.shared(QuotaStore).values == {entity_of({"client-id": "slow"}): {"producer_byte_rate": 10.0}}


def test_the_metadata_log_is_read_once_with_the_configs(logs: LogManager) -> None:
    shutil.rmtree(logs.roots[0].path / "__cluster_metadata-0")
    assert logs.config("t").index_interval_bytes == 7
    assert logs.shared(QuotaStore).values and logs.shared(SecurityStore).values.acls
