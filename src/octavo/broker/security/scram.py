"""SCRAM (RFC 5802): the credential for a password, and the server's side of the exchange, without channel binding."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from enum import IntEnum
from typing import NamedTuple

MIN_ITERATIONS, MAX_ITERATIONS = 4096, 16384
_NONCE_BYTES = 24
_SALT_BYTES = 24
_SECRET = secrets.token_bytes(32)
_FIRST = re.compile(rb"n,(?:a=([^,]*))?,(n=((?:[^,=]|=2C|=3D)+),r=([\x21-\x2b\x2d-\x7e]+)(?:,.*)?)", re.DOTALL)
_FINAL = re.compile(rb"(c=([A-Za-z0-9+/=]*),r=([\x21-\x2b\x2d-\x7e]+)(?:,.*)?),p=([A-Za-z0-9+/=]+)", re.DOTALL)


class ScramError(Exception):
    """The exchange failed; the reason is for the broker's log, and never sent to the client."""


class ScramMechanism(IntEnum):
    """The mechanisms, with the numbers in Kafka's requests."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def mechanism_name(self) -> str:
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"

    def hmac(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, self.hash_name)


class ScramCredential(NamedTuple):
    """What a server stores about a password: enough to check it, but not to log in with it."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    @classmethod
    def of_password(cls, mechanism: ScramMechanism, password: str, iterations: int = MIN_ITERATIONS) -> ScramCredential:
        salt = secrets.token_bytes(_SALT_BYTES)
        salted = hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)
        return cls.of_salted(mechanism, salted, salt, iterations)

    @classmethod
    def of_salted(cls, mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
        """Make a credential from a password that the client has salted: Kafka's tools never send the password
        itself."""
        client_key = mechanism.hmac(salted, b"Client Key")
        stored_key = hashlib.new(mechanism.hash_name, client_key).digest()
        return cls(salt, stored_key, mechanism.hmac(salted, b"Server Key"), iterations)


class ScramExchange:
    """Answers two messages from the client. For an unknown user it continues with a made-up credential, and fails at
    the end."""

    def __init__(self, mechanism: ScramMechanism, credentials: dict[str, ScramCredential]) -> None:
        self._mechanism = mechanism
        self._credentials = credentials
        self._first: bytes | None = None
        self.user: str | None = None  # set once the client has proved the password

    def step(self, token: bytes) -> bytes:
        """The answer to a client's message; raises ScramError if it is invalid, or does not prove the password."""
        return self._begin(token) if self._first is None else self._finish(token)

    def _begin(self, token: bytes) -> bytes:
        match = _FIRST.fullmatch(token)
        if match is None:
            raise ScramError("not the first message of a SCRAM exchange without channel binding")
        authorization_id, bare, name, nonce = match.groups()
        try:
            self._name = name.decode().replace("=2C", ",").replace("=3D", "=")
        except UnicodeDecodeError:
            raise ScramError("the user name is not UTF-8") from None
        if authorization_id and authorization_id != name:
            raise ScramError(f"{self._name!r} asks to act as another user")
        found = self._credentials.get(self._name)
        self._is_known = found is not None
        self._credential = found or _made_up(self._mechanism, name)
        self._nonce = nonce + base64.b64encode(secrets.token_bytes(_NONCE_BYTES))
        salt = base64.b64encode(self._credential.salt)
        self._first = b"r=%b,s=%b,i=%d" % (self._nonce, salt, self._credential.iterations)
        self._bare = bare
        return self._first

    def _finish(self, token: bytes) -> bytes:
        match = _FINAL.fullmatch(token)
        if match is None or self._first is None:
            raise ScramError("not a final SCRAM message")
        without_proof, binding, nonce, encoded = match.groups()
        try:
            proof, header = base64.b64decode(encoded, validate=True), base64.b64decode(binding, validate=True)
        except binascii.Error:
            raise ScramError("the proof or the channel binding is not base64") from None
        if nonce != self._nonce or not header.startswith(b"n,"):
            raise ScramError("the nonce or the channel binding differs from that of the first message")
        signed = b",".join((self._bare, self._first, without_proof))
        signature = self._mechanism.hmac(self._credential.stored_key, signed)
        if len(proof) != len(signature):
            raise ScramError("the proof has the wrong length")
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        proved = hashlib.new(self._mechanism.hash_name, client_key).digest()
        if not hmac.compare_digest(proved, self._credential.stored_key) or not self._is_known:
            raise ScramError(f"{'wrong password' if self._is_known else 'no such user'}: {self._name!r}")
        self.user = self._name
        return b"v=" + base64.b64encode(self._mechanism.hmac(self._credential.server_key, signed))


def _made_up(mechanism: ScramMechanism, name: bytes) -> ScramCredential:
    """A credential for a user that does not exist. While this process runs, a name gets the same salt each time: a new
    one would show that there is no such user."""
    salt = mechanism.hmac(_SECRET, name)[:_SALT_BYTES]
    return ScramCredential.of_salted(mechanism, _SECRET, salt, MIN_ITERATIONS)
