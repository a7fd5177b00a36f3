"""SASL: how a connection proves who its user is, by PLAIN or SCRAM."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Protocol

from octavo.broker.security.scram import ScramCredential, ScramError, ScramExchange, ScramMechanism

PLAIN = "PLAIN"
SCRAM = {mechanism.mechanism_name: mechanism for mechanism in ScramMechanism}
MECHANISMS = (PLAIN, *SCRAM)
FAILURE_DELAY_SECONDS = 0.1  # before a client learns that its login failed, so that guessing passwords takes longer


class LoginFailed(Exception):
    """The message is for the client, and does not say whether the user exists; the reason is for the broker's log."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class PlainExchange:
    """One message with the name and the password (RFC 4616)."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords
        self.user: str | None = None  # set once the client has proved who it is

    def step(self, token: bytes) -> bytes:
        try:
            authorization_id, name, password = token.decode().split("\0")
        except ValueError:
            problem = "Invalid SASL/PLAIN response: expected 3 tokens"
            raise LoginFailed(problem, "not a message of PLAIN, which has three parts") from None
        expected = self._passwords.get(name)
        is_right = hmac.compare_digest(password.encode(), (expected or "").encode())
        if expected is None or not is_right:
            reason = "no such user" if expected is None else "wrong password"
            raise LoginFailed("Authentication failed: Invalid username or password", f"{reason}: {name!r}")
        if authorization_id not in ("", name):
            problem = "Authentication failed: Client requested an authorization id that is different from username"
            raise LoginFailed(problem, f"{name!r} asks to act as another user")
        self.user = name
        return b""


class Credentials(Protocol):
    """Where SCRAM finds its users."""

    def scram(self, mechanism: ScramMechanism) -> dict[str, ScramCredential]: ...


class Login:
    """A connection's login: a handshake that names the mechanism, then the mechanism's messages."""

    def __init__(self, mechanisms: tuple[str, ...], passwords: Mapping[str, str], credentials: Credentials) -> None:
        self.mechanisms = mechanisms
        self._passwords = passwords
        self._credentials = credentials
        self._exchange: PlainExchange | ScramExchange | None = None
        self.mechanism = ""  # the chosen one
        self.is_bare = False  # after a handshake of version 0, messages come without Kafka's headers

    def choose(self, mechanism: str, *, is_bare: bool) -> bool:
        """Choose the mechanism; returns whether it is enabled here."""
        if mechanism not in self.mechanisms:
            return False
        self.mechanism, self.is_bare = mechanism, is_bare
        if mechanism == PLAIN:
            self._exchange = PlainExchange(self._passwords)
        else:
            kind = SCRAM[mechanism]
            self._exchange = ScramExchange(kind, self._credentials.scram(kind))
        return True

    @property
    def is_begun(self) -> bool:
        return self._exchange is not None

    @property
    def user(self) -> str | None:
        """The user, once authenticated."""
        return None if self._exchange is None else self._exchange.user

    def step(self, token: bytes) -> bytes:
        assert self._exchange is not None, "a handshake comes first"
        try:
            return self._exchange.step(token)
        except ScramError as error:
            problem = "Authentication failed during authentication due to invalid credentials with SASL mechanism"
            raise LoginFailed(f"{problem} {self.mechanism}", str(error)) from None
