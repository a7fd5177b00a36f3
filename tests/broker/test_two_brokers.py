"""Two brokers over one LogDir know the same users, ACLs and quotas."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import octavo
from octavo.broker.broker import Broker
from octavo.broker.security.acls import Operation, ResourceType
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from octavo.format.protocol.error_codes import ErrorCode
from tests.broker.acl_twin import ALL_ACLS, acl
from tests.broker.logins import SASL_CONFIGS, STANDARD_AUTHORIZER, log_in
from tests.broker.raw import RawClient
from tests.broker.requests import batch, produced

CONFIGS = {**SASL_CONFIGS, "authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:admin"}
RATE = "producer_byte_rate"


def ask(broker: Broker, api: apis.Api, version: int, body: Row, user: str = "admin") -> Row:
    with RawClient(broker.address) as client:
        log_in(client, user)
        return client.ask(api, version, body) or {}


def give(broker: Broker, name: str) -> None:
    """Create a user of this name, with an ACL and a quota."""
    credential = {"name": name, "mechanism": 2, "iterations": 4096, "salt": b"salt", "saltedPassword": b"p" * 64}
    allowed = acl(ResourceType.TOPIC, "t", Operation.WRITE, principal=f"User:{name}")
    quota = {
        "entity": [{"entityType": "user", "entityName": name}],
        "ops": [{"key": RATE, "value": 1.0, "remove": False}],
    }
    upserted = {"deletions": [], "upsertions": [credential]}
    for answer in (
        ask(broker, apis.ALTER_USER_SCRAM_CREDENTIALS, 0, upserted)["results"],
        ask(broker, apis.CREATE_ACLS, 3, {"creations": [allowed]})["results"],
        ask(broker, apis.ALTER_CLIENT_QUOTAS, 1, {"entries": [quota]})["entries"],
    ):
        assert [row["errorCode"] for row in answer] == [0], answer


def known(broker: Broker) -> list[set[str]]:
    """The users that a broker shows: those with credentials, those in ACLs and those with quotas."""
    users = ask(broker, apis.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": None})["results"]
    acls = ask(broker, apis.DESCRIBE_ACLS, 3, ALL_ACLS)["resources"]
    quotas = ask(broker, apis.DESCRIBE_CLIENT_QUOTAS, 1, {"components": [], "strict": False})["entries"]
    return [
        {row["user"] for row in users},
        {row["principal"].removeprefix("User:") for resource in acls for row in resource["acls"]},
        {row["entity"][0]["entityName"] for row in quotas},
    ]


def produce(broker: Broker, user: str) -> tuple[ErrorCode, bool]:
    """How a broker answers a producer, and whether it throttles it."""
    answer = ask(broker, apis.PRODUCE, 9, produced("t", 0, batch("x" * 100)), user)
    (partition,) = answer["responses"][0]["partitionResponses"]
    return ErrorCode(partition["errorCode"]), answer["throttleTimeMs"] > 0


def test_what_one_broker_changes_the_other_knows(tmp_path: Path) -> None:
    for is_restarted in (False, True):
        with ExitStack() as stack:
            logs = stack.enter_context(octavo.LogDir(tmp_path / "logs", configs=CONFIGS, create=True))
            brokers = [stack.enter_context(logs.serve("SASL_PLAINTEXT://127.0.0.1:0")) for _ in range(2)]
            if not is_restarted:
                logs.create_topic("t")
                assert produce(brokers[1], "alice") == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, False)
                give(brokers[0], "alice")
                give(brokers[1], "bob")
            for broker in brokers:
                assert known(broker) == [{"alice", "bob"}] * 3
                for user in ("alice", "bob"):
                    assert produce(broker, user) == (ErrorCode.NONE, True)
