"""Logging in over the raw protocol, and the configs of brokers that require it and that check ACLs."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from octavo.broker.security.scram import ScramMechanism
from octavo.format.messages.schema import Row
from octavo.format.protocol.apis import SASL_AUTHENTICATE, SASL_HANDSHAKE
from tests.broker.raw import RawClient

USERS = {"admin": "admin-secret", "alice": "alice-secret", "bob": "bob-secret"}
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def jaas(users: dict[str, str] = USERS) -> str:
    """PLAIN's users, as Kafka's properties give them."""
    quoted = {name: password.replace("\\", "\\\\").replace('"', '\\"') for name, password in users.items()}
    return PLAIN_MODULE + "".join(f' user_{name}="{password}"' for name, password in quoted.items()) + ";"


SASL_CONFIGS = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": jaas(),
    "listener.name.sasl_ssl.plain.sasl.jaas.config": jaas(),
}


def log_in(client: RawClient, user: str, password: str | None = None) -> Row | None:
    """Log in with PLAIN; returns the broker's answer."""
    client.ask(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})
    token = f"\0{user}\0{USERS[user] if password is None else password}".encode()
    return client.ask(SASL_AUTHENTICATE, 2, {"authBytes": token})


def scram_proof(mechanism: ScramMechanism, password: str, first: bytes, answer: bytes) -> bytes:
    """A client's last message of SCRAM, written from RFC 5802."""
    nonce, salt, iterations = (part.partition(b"=")[2] for part in answer.split(b","))
    salted = hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), base64.b64decode(salt), int(iterations))
    client_key = hmac.digest(salted, b"Client Key", mechanism.hash_name)
    stored_key = hashlib.new(mechanism.hash_name, client_key).digest()
    without_proof = b"c=biws,r=" + nonce
    signed = b",".join((first.removeprefix(b"n,,"), answer, without_proof))
    signature = hmac.digest(stored_key, signed, mechanism.hash_name)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    return without_proof + b",p=" + base64.b64encode(proof)


def first_message(user: str) -> bytes:
    return f"n,,n={user},r={secrets.token_hex(8)}".encode()
