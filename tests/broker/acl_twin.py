"""ACLs on a real Kafka 4.3.1 with its authorizer, and on ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from octavo.broker.broker import Broker
from octavo.broker.security.acls import PatternType, Permission
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.apis import Api
from tests.broker.logins import SASL_CONFIGS, STANDARD_AUTHORIZER
from tests.broker.requests import batch, produced
from tests.broker.twin import Twin, known
from tests.interop.broker import PROPERTIES, free_ports
from tests.interop.broker import Broker as KafkaBroker

SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
SECURITY = {
    **SASL_CONFIGS,
    "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": SCRAM_MODULE,
    "listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config": SCRAM_MODULE,
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:admin;User:ANONYMOUS",
}
TOPICS = {"t": 1, "orders": 1, "orders.eu": 1}
ALL_ACLS = {"resourceTypeFilter": 1, "resourceNameFilter": None, "patternTypeFilter": 1, "principalFilter": None,
            "hostFilter": None, "operation": 1, "permissionType": 1}  # fmt: skip


def acl(kind: int, name: str, operation: int, **fields: object) -> Row:
    return {
        "resourceType": kind, "resourceName": name, "resourcePatternType": PatternType.LITERAL,
        "principal": "User:alice", "host": "*", "operation": operation, "permissionType": Permission.ALLOW, **fields,
    }  # fmt: skip


class AclTwin(Twin):
    """Asks as `user`, who logs in on every connection."""

    @classmethod
    @contextmanager
    def secured(cls, folder: Path, more_configs: Mapping[str, str] | None = None) -> Iterator[Self]:
        """Both brokers with the same users, topics and one record."""
        security = {**SECURITY, **(more_configs or {})}
        plain, sasl, controller = free_ports(3)
        addresses = {
            "listeners": f"PLAINTEXT://localhost:{plain},SASL_PLAINTEXT://localhost:{sasl},"
            f"CONTROLLER://localhost:{controller}",
            "controller.quorum.bootstrap.servers": f"localhost:{controller}",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
        }
        real = KafkaBroker(folder / "kafka", {**security, **addresses})
        real.start()
        try:
            configs = {**known(PROPERTIES), **security}
            with Broker(folder / "ours", listen="SASL_PLAINTEXT://127.0.0.1:0", configs=configs) as ours:
                both = cls(("localhost", sasl), ours.address)
                both.logs = ours.logs
                both.user = "admin"
                both.create_topics(TOPICS)
                both.ask(apis.PRODUCE, 9, produced("t", 0, batch("x")))
                yield both
        finally:
            real.kill()

    def wait_for_coordinators(self) -> None:
        self.user = "admin"
        super().wait_for_coordinators()

    def ask_all(self, asked: list[tuple[Api, int, Row]]) -> None:
        """Ask as alice, who may do what the ACLs allow her."""
        self.user = "alice"
        for api, version, body in asked:
            self.ask(api, version, body)

    def delete_acls(self) -> None:
        self.user = "admin"
        self.ask(apis.DELETE_ACLS, 3, {"filters": [ALL_ACLS]})
        for address in self.addresses:
            with self._connected(address) as client:
                client.ask_until(apis.DESCRIBE_ACLS, 3, ALL_ACLS, lambda answer: not answer["resources"])

    def add(self, *acls: Row) -> None:
        self.user = "admin"
        with self.changing(apis.DESCRIBE_ACLS, 3, ALL_ACLS):
            self.ask(apis.CREATE_ACLS, 3, {"creations": list(acls)})
        self.settle()

    def settle(self) -> None:
        """Wait for the real broker, whose authorizer learns about ACLs from its metadata log."""
        self.eventually(apis.DESCRIBE_ACLS, 3, ALL_ACLS)
