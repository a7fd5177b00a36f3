"""The client at the other end of a connection, and the listener it came through."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, NamedTuple

from octavo.broker.security.listeners import Endpoint, Listener
from octavo.broker.security.principals import ANONYMOUS, Client, user
from octavo.broker.security.sasl import Credentials, Login, LoginFailed
from octavo.broker.security.tls import principal_of

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Peer:
    """Anonymous until its certificate or its login says who it is."""

    client: Client
    endpoint: Endpoint
    login: Login | None
    is_rejected: bool = False  # the connection is closed once the answer that says why has been sent

    @property
    def host(self) -> str:
        return self.client.host

    @property
    def is_admitted(self) -> bool:
        """Whether its requests may be answered: at once on a listener without SASL, otherwise after its login."""
        return self.login is None or self.login.user is not None

    @property
    def sends_bare_tokens(self) -> bool:
        """Whether its next frame is a message of its login without Kafka's header."""
        return self.login is not None and self.login.is_bare and self.login.user is None

    def log_in(self, token: bytes) -> bytes:
        """The answer to a message of the login; raises LoginFailed if it is refused, and logs why."""
        assert self.login is not None, "a listener without SASL"
        try:
            answer = self.login.step(token)
        except LoginFailed as error:
            _log.warning("%s: login with %s failed: %s", self.host, self.login.mechanism, error.reason)
            raise
        if self.login.user is not None:
            self.client = Client(user(self.login.user), self.host)
        return answer


class Door(NamedTuple):
    """An open listener, and the endpoint that it advertises to clients."""

    listener: Listener
    endpoint: Endpoint
    credentials: Credentials

    def meet(self, host: str, certificate: dict[str, Any] | None) -> Peer:
        """The peer for a client that has just connected."""
        listener, login = self.listener, None
        if listener.protocol.has_sasl:
            login = Login(listener.mechanisms, listener.passwords, self.credentials)
        principal = ANONYMOUS if listener.protocol.has_sasl else principal_of(certificate)
        return Peer(Client(principal, host), self.endpoint, login)
