"""Limits what clients may use: connections, memory for large frames, idle time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from octavo.client.log_dir import LogDir

if TYPE_CHECKING:
    from octavo.broker.network.connection import Connection

_QUEUED_BYTES = 512 << 20
_LONGEST_FRAME_MS = 30_000  # how long a frame may take to arrive while others wait for memory
_SMALL_FRAME_BYTES = 64 << 10  # needs no permission: small requests are served however much memory others use


class ConnectionLimits:
    """Lives on the loop's thread, except for `connections`.

    Changes to max.connections and max.connections.per.ip apply to new connections.
    """

    def __init__(self, log_dir: LogDir) -> None:
        config, self._log_dir, self._clock = log_dir.broker_config, log_dir, log_dir.environment.clock
        self.max_frame_bytes = config.socket_request_max_bytes
        self._max_idle_ms = config.connections_max_idle_ms
        queued_bytes = config.queued_max_request_bytes
        self._free_bytes = max(_QUEUED_BYTES if queued_bytes < 0 else queued_bytes, self.max_frame_bytes + 4)
        self._by_host: Counter[str] = Counter()
        self._connections: dict[Connection, None] = {}
        self._granted: dict[Connection, int] = {}
        self._granted_since: dict[Connection, int] = {}
        self._waiting: dict[Connection, int] = {}

    @property
    def connections(self) -> list[Connection]:
        return list(self._connections)

    def admit(self, connection: Connection) -> bool:
        """Count a new connection; returns False if there is no room for it. `dismiss` makes room again."""
        host, config = connection.peer.host, self._log_dir.broker_config
        is_full = len(self._connections) >= config.max_connections
        if is_full or self._by_host[host] >= config.max_connections_per_ip:
            return False
        self._by_host[host] += 1
        self._connections[connection] = None
        self.note_use(connection)
        return True

    def dismiss(self, connection: Connection) -> None:
        if connection in self._connections:
            del self._connections[connection]
            self._by_host -= Counter([connection.peer.host])  # drops hosts without connections
        self._waiting.pop(connection, None)
        self.release(connection)

    def note_use(self, connection: Connection) -> None:
        connection.last_use_ms = self._clock.monotonic_ms()

    def close_idle(self) -> None:
        """Close connections that were not used for connections.max.idle.ms.

        While others wait for memory, connections whose large frame takes too long to arrive are closed too.
        """
        now = self._clock.monotonic_ms()
        if self._waiting:
            for connection, since in list(self._granted_since.items()):
                if now - since > _LONGEST_FRAME_MS:
                    connection.close()
        if self._max_idle_ms < 0:
            return
        oldest = now - self._max_idle_ms
        for connection in self.connections:
            if connection.last_use_ms <= oldest:
                connection.close()

    def may_grow(self, connection: Connection, frame_bytes: int) -> bool:
        """Whether a connection may continue reading a frame of this size; if not, its `resume` is called once it
        may."""
        if frame_bytes <= _SMALL_FRAME_BYTES or connection in self._granted:
            return True
        if self._waiting or frame_bytes > self._free_bytes:
            self._waiting[connection] = frame_bytes
            return False
        self._grant(connection, frame_bytes)
        return True

    def release(self, connection: Connection) -> None:
        """Release the memory of a connection's frame, so that others can use it."""
        if not self._granted and not self._waiting:
            return
        if connection in self._granted:
            self._free_bytes += self._granted.pop(connection)
            del self._granted_since[connection]
        while self._waiting:
            first, frame_bytes = next(iter(self._waiting.items()))
            if frame_bytes > self._free_bytes:
                return
            del self._waiting[first]
            self._grant(first, frame_bytes)
            first.resume()

    def _grant(self, connection: Connection, frame_bytes: int) -> None:
        self._free_bytes -= frame_bytes
        self._granted[connection] = frame_bytes
        self._granted_since[connection] = self._clock.monotonic_ms()
