"""Listens on the broker's addresses: accepts connections, and closes idle ones."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from octavo.broker.dispatch import Dispatcher
from octavo.broker.limits import ConnectionLimits
from octavo.broker.metrics import BrokerCollector
from octavo.broker.network.connection import Connection
from octavo.broker.network.inbox import SharedBuffer
from octavo.broker.security.listeners import Endpoint, Listener
from octavo.broker.security.peer import Door
from octavo.broker.security.tls import server_context
from octavo.client.log_dir import LogDir
from octavo.system.os_errors import placed

_IDLE_CHECK_SECONDS = 10.0
_BACKLOG = 512
_HANDSHAKE_SECONDS = 10.0
_CONGESTION: int = getattr(socket, "TCP_CONGESTION", -1)  # Linux and FreeBSD have it


class Server:
    """Lives on the loop's thread."""

    def __init__(self, dispatcher: Dispatcher, limits: ConnectionLimits) -> None:
        self._dispatcher = dispatcher
        self._limits = limits
        self._shared = SharedBuffer()
        self._servers: list[asyncio.Server] = []
        self._loop = dispatcher.context.loop
        self._timer = self._loop.call_later(_IDLE_CHECK_SECONDS, self._close_idle)

    async def listen(self, listener: Listener) -> Endpoint:
        """Accept connections and return the address. Clients get the advertised address, or else this one."""
        context = server_context(listener) if listener.protocol.has_tls else None
        host, advertised = listener.address.host, listener.advertised
        listening = bind(listener.address, self._dispatcher.context.config.socket_send_buffer_bytes)
        bound = Endpoint(host, listening.getsockname()[1])
        endpoint = bound if advertised is None else Endpoint(advertised.host, advertised.port or bound.port)
        door = Door(listener, endpoint, self._dispatcher.context.security)

        server = await self._loop.create_server(
            lambda: Connection(self._dispatcher, self._limits, door, self._shared),
            sock=listening,
            backlog=_BACKLOG,
            ssl=context,
            ssl_handshake_timeout=None if context is None else _HANDSHAKE_SECONDS,
        )
        self._servers.append(server)
        return bound

    def collector(self, logs: LogDir) -> BrokerCollector:
        """The collector from which Prometheus gets the metrics."""
        return BrokerCollector(logs, self._dispatcher.counts, self._limits)

    def close(self) -> None:
        """Stop accepting, and close all connections."""
        self._timer.cancel()
        for server in self._servers:
            server.close()
        self.disconnect()

    def disconnect(self) -> None:
        """Close all connections; clients can connect again."""
        for connection in self._limits.connections:
            connection.close()

    def _close_idle(self) -> None:
        self._limits.close_idle()
        self._timer = self._loop.call_later(_IDLE_CHECK_SECONDS, self._close_idle)


def bind(endpoint: Endpoint, send_buffer_bytes: int = -1) -> socket.socket:
    """A socket that is bound to the address; it does not listen yet."""
    family, kind, protocol, _, address = socket.getaddrinfo(*endpoint, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # accepted connections inherit this
        if send_buffer_bytes >= 0:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
        if endpoint.is_local and _CONGESTION >= 0:
            _do_not_pace(listening)
        with placed(endpoint):
            listening.bind(address)
    except OSError:
        listening.close()
        raise
    return listening


def _do_not_pace(listening: socket.socket) -> None:
    """Let accepted connections send as fast as the client reads.

    Where BBR is the system's congestion control, timers pace every connection. Within one machine there is nothing to
    pace for, and the timers took a quarter of the CPU time of large fetches. Reno does not pace, and is always there.
    """
    with suppress(OSError):
        listening.setsockopt(socket.IPPROTO_TCP, _CONGESTION, b"reno")
