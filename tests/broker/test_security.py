"""TLS and SASL: which clients are let in, and what the others can reach."""

from __future__ import annotations

import io
import logging
import re
import socket
import ssl
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import trustme
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography.x509 import load_pem_x509_certificate

from octavo.broker.broker import Broker
from octavo.broker.context import Context
from octavo.broker.handlers import HANDLERS, Handler
from octavo.broker.request import Answer, NoAnswer, Request
from octavo.broker.security.listeners import listeners_of
from octavo.broker.security.sasl import FAILURE_DELAY_SECONDS
from octavo.broker.security.scram import ScramMechanism as Mechanism
from octavo.broker.security.tls import principal_of
from octavo.errors import ConfigError
from octavo.format.names import SECURITY_STORE
from octavo.format.protocol.apis import API_VERSIONS, APIS, METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE
from octavo.format.protocol.error_codes import ErrorCode
from tests.broker.librdkafka import SECONDS, Servers, consume, produce
from tests.broker.logins import SASL_CONFIGS, STANDARD_AUTHORIZER, USERS, first_message, jaas, log_in, scram_proof
from tests.broker.raw import RawClient
from tests.cli.runs import octavo

ASKED = {"topics": None}


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def certificates(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ca.pem, the broker's server.pem, and alice's client.pem."""
    folder = tmp_path_factory.mktemp("certificates")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    client = authority.issue_cert("alice.example", common_name="alice", organization_name="Octavo, Ltd")
    client.private_key_and_cert_chain_pem.write_to_path(folder / "client.pem")
    return folder


@pytest.fixture
def configs(certificates: Path) -> dict[str, str]:
    return {
        **SASL_CONFIGS,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates / "server.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates / "ca.pem"),
        "listener.name.ssl.ssl.client.auth": "required",
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:admin",
    }


@pytest.fixture
def secured(tmp_path: Path, configs: dict[str, str]) -> Iterator[Broker]:
    listen = [f"{name}://127.0.0.1:0" for name in ("SASL_PLAINTEXT", "SASL_SSL", "SSL")]
    with Broker(tmp_path / "logs", listen=listen, configs=configs) as running:
        yield running


def servers(broker: Broker, protocol: str, **configs: str) -> Servers:
    return {
        "bootstrap.servers": str(broker.addresses[protocol]),
        "security.protocol": protocol,
        **{name.replace("_", "."): value for name, value in configs.items()},
    }


def plain(broker: Broker, user: str, protocol: str = "SASL_PLAINTEXT", **configs: str) -> Servers:
    return servers(broker, protocol, sasl_mechanism="PLAIN", sasl_username=user, sasl_password=USERS[user], **configs)


def add_scram_user(broker: Broker, user: str, password: str, mechanism: ScramMechanism) -> None:
    change = UserScramCredentialUpsertion(user, ScramCredentialInfo(mechanism, 4096), password.encode())
    admin = AdminClient(plain(broker, "admin"))
    for done in admin.alter_user_scram_credentials([change]).values():
        done.result(SECONDS)


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_user_produces_and_consumes(secured: Broker, certificates: Path, protocol: str, mechanism: str) -> None:
    secured.logs.create_topic("t", 1)
    if mechanism != "PLAIN":
        add_scram_user(secured, "admin", USERS["admin"], ScramMechanism[mechanism.replace("-", "_")])
    login = {"sasl_mechanism": mechanism, "sasl_username": "admin", "sasl_password": USERS["admin"]}
    known = servers(secured, protocol, ssl_ca_location=str(certificates / "ca.pem"), **login)
    values = [b"%d" % number + bytes(1000) for number in range(1000)]
    produce(known, "t", values)
    assert consume(known, "t", 1, len(values)) == values


def test_a_certificate_names_its_client(secured: Broker, certificates: Path) -> None:
    secured.logs.create_topic("t", 1)
    keys = {"ssl_certificate_location": "client.pem", "ssl_key_location": "client.pem", "ssl_ca_location": "ca.pem"}
    known = servers(secured, "SSL", **{name: str(certificates / file) for name, file in keys.items()})
    refused = delivery_error(known, "t")
    assert refused is not None
    assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    certificate = load_pem_x509_certificate((certificates / "client.pem").read_bytes())
    allow = AclBinding(
        ResourceType.TOPIC, "t", ResourcePatternType.LITERAL, f"User:{certificate.subject.rfc4514_string()}", "*",
        AclOperation.WRITE, AclPermissionType.ALLOW,
    )  # fmt: skip
    admin = AdminClient(plain(secured, "admin"))
    for done in admin.create_acls([allow]).values():
        done.result(SECONDS)
    assert delivery_error(known, "t") is None


@pytest.mark.parametrize("issuer, is_answered", [("the authority", True), ("another", False), (None, False)])
def test_a_required_certificate_must_come_from_the_known_authority(
    secured: Broker, authority: trustme.CA, tmp_path: Path, issuer: str | None, is_answered: bool
) -> None:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    if issuer is not None:
        issued_by = authority if issuer == "the authority" else trustme.CA()
        issued_by.issue_cert("alice.example").configure_cert(context)
    answer = None
    with RawClient(secured.addresses["SSL"]) as client, suppress(ssl.SSLError):
        client.socket = context.wrap_socket(client.socket, server_hostname="127.0.0.1")
        answer = client.ask(API_VERSIONS, 0, {})  # in TLS 1.3 a client learns only now whether it was accepted
    assert (answer is not None) == is_answered


def test_a_user_that_the_command_added_can_log_in(
    tmp_path: Path, configs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("from-stdin\n"))
    assert octavo("users", str(tmp_path / "logs"), "--add", "admin").exit == 0
    with Broker(tmp_path / "logs", listen="SASL_PLAINTEXT://127.0.0.1:0", configs=configs) as broker:
        login = {"sasl_mechanism": "SCRAM-SHA-256", "sasl_username": "admin", "sasl_password": "from-stdin"}
        assert delivery_error(servers(broker, "SASL_PLAINTEXT", **login), "new") is None


def test_only_three_apis_are_reached_before_a_login(secured: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[int] = []

    def noting(key: int) -> Handler:
        def handle(request: Request, context: Context) -> Answer:
            reached.append(key)
            return NoAnswer()

        return handle

    for key in HANDLERS:
        monkeypatch.setitem(HANDLERS, key, noting(key))
    for api in APIS.values():
        for version in (api.versions.lowest, api.versions.highest):
            with RawClient(secured.addresses["SASL_PLAINTEXT"]) as client:
                client.socket.sendall(client.frame(api, version, bytes(1000)))
                client.socket.shutdown(socket.SHUT_WR)
                assert client.receive() is None
    assert set(reached) <= {API_VERSIONS.key, SASL_HANDSHAKE.key, SASL_AUTHENTICATE.key}
    assert API_VERSIONS.key in reached


def delivery_error(known: Servers, topic: str) -> KafkaError | None:
    """Why a record could not be produced; None if it was."""
    found: list[KafkaError | None] = []
    producer = Producer({**known, "message.timeout.ms": 5000, "enable.idempotence": False})
    producer.produce(topic, b"x", on_delivery=lambda error, _: found.append(error))
    producer.flush(SECONDS)
    return found[0]


@pytest.mark.parametrize(
    "name, password, reason",
    [
        ("alice", "mistyped", "wrong password: 'alice'"),
        ("no\nbody", "mistyped", r"no such user: 'no\nbody'"),
        ("", "", "no such user: ''"),
    ],
)
def test_a_wrong_password_is_refused_as_an_unknown_user_is(
    secured: Broker, name: str, password: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with RawClient(secured.addresses["SASL_PLAINTEXT"]) as client:
        answer = log_in(client, name, password)
        assert answer is not None
        assert answer["errorCode"] == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert answer["errorMessage"] == "Authentication failed: Invalid username or password"
        assert client.receive() is None
    assert warnings(caplog) == [f"127.0.0.1: login with PLAIN failed: {reason}"]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize("name, reason", [("alice", "wrong password: 'alice'"), ("nobody", "no such user: 'nobody'")])
def test_a_wrong_scram_password_is_refused_as_an_unknown_user_is(
    secured: Broker, name: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    add_scram_user(secured, "alice", USERS["alice"], ScramMechanism.SCRAM_SHA_256)
    with RawClient(secured.addresses["SASL_PLAINTEXT"]) as client:
        client.ask(SASL_HANDSHAKE, 1, {"mechanism": "SCRAM-SHA-256"})
        first = first_message(name)
        begun = client.ask(SASL_AUTHENTICATE, 2, {"authBytes": first})
        assert begun is not None
        assert not begun["errorCode"]
        proof = scram_proof(Mechanism.SCRAM_SHA_256, "wrong", first, bytes(begun["authBytes"]))
        answer = client.ask(SASL_AUTHENTICATE, 2, {"authBytes": proof})
        assert answer is not None
        assert answer["errorCode"] == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert "invalid credentials" in answer["errorMessage"]
        assert client.receive() is None
    assert warnings(caplog) == [f"127.0.0.1: login with SCRAM-SHA-256 failed: {reason}"]


def test_an_unknown_user_has_the_same_salt_each_time(secured: Broker) -> None:
    def salt() -> bytes:
        with RawClient(secured.addresses["SASL_PLAINTEXT"]) as client:
            client.ask(SASL_HANDSHAKE, 1, {"mechanism": "SCRAM-SHA-512"})
            answer = client.ask(SASL_AUTHENTICATE, 2, {"authBytes": first_message("nobody")})
            assert answer is not None
            return bytes(answer["authBytes"]).split(b",")[1]

    assert salt() == salt()


def test_before_a_login_only_api_versions_and_the_login_are_answered(
    secured: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    address = secured.addresses["SASL_PLAINTEXT"]
    with RawClient(address) as client:
        assert client.ask(API_VERSIONS, 3, {"clientSoftwareName": "x", "clientSoftwareVersion": "1"}) is not None
        assert client.ask(METADATA, 12, ASKED) is None
    with RawClient(address) as client:
        client.ask(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})
        assert client.ask(METADATA, 12, ASKED) is None
    with RawClient(address) as client:
        assert client.ask(SASL_AUTHENTICATE, 2, {"authBytes": b"\0admin\0admin-secret"}) is None
    with caplog.at_level(logging.DEBUG, "octavo.broker"), RawClient(address) as client:
        client.socket.sendall((1 << 20).to_bytes(4) + bytes(1000))  # a frame larger than any login needs
        assert client.receive() is None
    assert "a request of 1048576 bytes, expected at most sasl.server.max.receive.size, 524288" in caplog.text
    with RawClient(address) as client:
        answer = client.ask(SASL_HANDSHAKE, 1, {"mechanism": "GSSAPI"})
        assert answer is not None
        assert answer["errorCode"] == ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert answer["mechanisms"] == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
        assert client.receive() is None


def test_after_a_login_requests_are_answered_and_another_login_is_refused(secured: Broker) -> None:
    with RawClient(secured.addresses["SASL_PLAINTEXT"]) as client:
        answer = log_in(client, "bob")
        assert answer is not None
        assert not answer["errorCode"]
        assert client.ask(METADATA, 12, ASKED) is not None
        again = client.ask(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})
        assert again is not None
        assert again["errorCode"] == ErrorCode.ILLEGAL_SASL_STATE


def test_a_login_of_old_clients_has_no_headers(secured: Broker) -> None:
    with RawClient(secured.addresses["SASL_PLAINTEXT"]) as client:
        client.ask(SASL_HANDSHAKE, 0, {"mechanism": "PLAIN"})
        token = b"\0admin\0admin-secret"
        client.socket.sendall(len(token).to_bytes(4) + token)
        assert client.receive() == b""
        assert client.ask(METADATA, 12, ASKED) is not None


def test_a_failed_login_of_old_clients_is_noticed_no_earlier_than_another(secured: Broker) -> None:
    token = b"\0admin\0wrong"
    with RawClient(secured.addresses["SASL_PLAINTEXT"]) as client:
        client.ask(SASL_HANDSHAKE, 0, {"mechanism": "PLAIN"})
        before = time.monotonic()
        client.socket.sendall(len(token).to_bytes(4) + token)
        assert client.receive() is None
        assert time.monotonic() - before >= FAILURE_DELAY_SECONDS


def test_a_tls_listener_does_not_answer_a_client_without_tls(secured: Broker) -> None:
    with RawClient(secured.addresses["SSL"]) as client:
        assert client.ask(METADATA, 12, ASKED) is None


def test_users_and_acls_are_there_after_a_restart(tmp_path: Path, configs: dict[str, str]) -> None:
    allow = AclBinding(
        ResourceType.TOPIC, "t", ResourcePatternType.LITERAL, "User:alice", "*", AclOperation.WRITE,
        AclPermissionType.ALLOW,
    )  # fmt: skip
    listen = "SASL_PLAINTEXT://127.0.0.1:0"
    with Broker(tmp_path / "logs", listen=listen, configs=configs) as broker:
        broker.logs.create_topic("t", 1)
        add_scram_user(broker, "alice", "new", ScramMechanism.SCRAM_SHA_512)
        admin = AdminClient(plain(broker, "admin"))
        for done in admin.create_acls([allow]).values():
            done.result(SECONDS)
    assert stat.S_IMODE((tmp_path / "logs" / SECURITY_STORE).stat().st_mode) == 0o600
    with Broker(tmp_path / "logs", listen=listen, configs=configs) as broker:
        login = {"sasl_mechanism": "SCRAM-SHA-512", "sasl_username": "alice", "sasl_password": "new"}
        known = servers(broker, "SASL_PLAINTEXT", **login)
        assert delivery_error(known, "t") is None
        refused = delivery_error(known, "other")
        assert refused is not None and refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_a_listener_that_everybody_could_use_must_be_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="other machines"):
        Broker(tmp_path / "logs", listen="0.0.0.0:0")
    assert not (tmp_path / "logs").exists()
    with Broker(tmp_path / "logs", listen="SASL_PLAINTEXT://0.0.0.0:0", configs=SASL_CONFIGS):
        pass


@pytest.mark.parametrize(
    "listen, given, problem",
    [
        ("SASL_SSL://h:1", {}, "GSSAPI"),
        ("SASL_SSL://h:1", {"sasl.enabled.mechanisms": "PLAIN"}, "plain.sasl.jaas.config"),
        ("INTERNAL://h:1", {}, "listener.security.protocol.map"),
        ("SSL://h:1", {"listener.name.ssl.log.retention.ms": "1"}, "not supported"),
        ("SSL://h:1", {"listener.security.protocol.map": "SSL:TLS"}, "expected one of"),
    ],
)
def test_what_a_listener_cannot_be(listen: str, given: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        listeners_of([listen], None, given)


@pytest.mark.parametrize(
    "listen, advertise, problem",
    [
        (["h:1", "h:2"], None, "two listeners are called PLAINTEXT: h:1 and h:2"),
        (["SSL://h:1", "ssl://[::1]:1"], None, "two listeners are called SSL: h:1 and [::1]:1"),
        (["h:1"], ["a:1", "PLAINTEXT://b:1"], "two advertised listeners are called PLAINTEXT: a:1 and b:1"),
    ],
)
def test_two_listeners_cannot_have_the_same_name(listen: list[str], advertise: list[str] | None, problem: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        listeners_of(listen, advertise, {})


def test_plain_listeners_with_names_of_their_own() -> None:
    """This is what the error about equal names advises; names are compared without case."""
    given = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT"}
    first, other = listeners_of(["h:1", "OTHER://h:2"], ["other://a:2"], given)
    assert (first.name, first.advertised) == ("PLAINTEXT", None)
    assert (other.name, other.advertised, other.protocol) == ("OTHER", ("a", 2), first.protocol)


def test_passwords_may_be_quoted() -> None:
    given = {**SASL_CONFIGS, "listener.name.sasl_ssl.plain.sasl.jaas.config": jaas({"bob": 'b"o\\b;', "eve": " "})}
    (listener,) = listeners_of(["SASL_SSL://h:1"], None, given)
    assert listener.passwords == {"bob": 'b"o\\b;', "eve": " "}


def test_a_listener_may_have_any_name_and_configs_of_its_own() -> None:
    given = {
        **SASL_CONFIGS,
        "listener.security.protocol.map": "CLIENTS:SASL_SSL,PLAINTEXT:PLAINTEXT",
        "listener.name.clients.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listeners": "CLIENTS://[::1]:9093,PLAINTEXT://:9092",
        "advertised.listeners": "CLIENTS://example.org:9093",
    }
    clients, other = listeners_of(None, None, given)
    assert clients.mechanisms == ("SCRAM-SHA-512",)
    assert (clients.address.is_local, other.address.is_local) == (True, False)
    assert (clients.advertised, other.advertised) == (("example.org", 9093), None)


@pytest.mark.parametrize("key", ["ssl.keystore.location", "ssl.truststore.location"])
def test_a_certificate_that_cannot_be_used_is_named(tmp_path: Path, configs: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError, match=r"listener SSL: .*missing\.pem: No such file"):
        Broker(tmp_path / "logs", listen="SSL://127.0.0.1:0", configs={**configs, key: str(tmp_path / "missing.pem")})
    with pytest.raises(ConfigError, match=r"listener SSL: a .*store of type JKS .*PEM"):
        kind = key.replace("location", "type")
        Broker(tmp_path / "logs", listen="SSL://127.0.0.1:0", configs={**configs, kind: "JKS"})


@pytest.mark.parametrize("key", ["ssl.keystore.key", "ssl.truststore.certificates"])
@pytest.mark.parametrize("text", ["", "nonsense", "\u00e9"])
def test_a_config_with_a_certificate_that_cannot_be_used_is_named(
    tmp_path: Path, configs: dict[str, str], key: str, text: str
) -> None:
    with pytest.raises(ConfigError, match=f"listener SSL: {key}"):
        Broker(tmp_path / "logs", listen="SSL://127.0.0.1:0", configs={**configs, key: text})


def test_a_tls_listener_without_a_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"listener SSL: .*needs ssl\.keystore\.location"):
        Broker(tmp_path / "logs", listen="SSL://127.0.0.1:0", configs={})


def test_a_subject_is_written_as_java_writes_it() -> None:
    subject = ((("countryName", "DE"),), (("organizationName", 'a, "b"'),), (("commonName", " x"),))
    assert principal_of({"subject": subject}) == 'User:CN=\\ x,O=a\\, \\"b\\",C=DE'
    assert principal_of(None) == "User:ANONYMOUS"


def test_passwords_are_not_shown(secured: Broker) -> None:
    secured.logs.create_topic("t", 1)
    admin = AdminClient(plain(secured, "admin"))
    resource = ConfigResource(ConfigResource.Type.BROKER, str(secured.logs.node_id))
    (found,) = admin.describe_configs([resource]).values()
    shown = found.result(SECONDS)
    assert shown["ssl.key.password"].is_sensitive
    assert not [entry for entry in shown.values() if any(word in str(entry.value) for word in USERS.values())]
