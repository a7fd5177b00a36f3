"""`octavo.Broker`: a Kafka broker for log directories, on its own thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from types import TracebackType
from typing import Self, TypeVar

from octavo.broker.catalog import Catalog
from octavo.broker.context import Context
from octavo.broker.dispatch import Dispatcher
from octavo.broker.limits import ConnectionLimits
from octavo.broker.request import Endpoint
from octavo.broker.server import Server
from octavo.broker.sessions import FetchSessions
from octavo.client.log_dir import LogDir
from octavo.config import Given
from octavo.storage.directory.log_roots import Paths
from octavo.system.forks import on_fork

Result = TypeVar("Result")

_THREADS = 4  # for work that waits for a disk, such as creating and deleting topics


class Broker:
    """Serves log directories to Kafka's clients until it is closed; to be used with `with`, or `async with`.

    Given paths it opens them, with a broker's upkeep, and closes them at the end; given a LogDir it serves that and
    leaves it open. It listens on loopback, on a free port unless one is named; whoever reaches the address can read and
    write everything, so that an address beyond this machine needs `allow_remote`.
    """

    def __init__(
        self,
        logs: LogDir | Paths,
        *,
        listen: str = "127.0.0.1:0",
        advertise: str | None = None,
        configs: Mapping[str, Given] | None = None,
        upkeep: bool = True,
        allow_remote: bool = False,
    ) -> None:
        address = parse_address(listen)
        if not allow_remote and not _is_loopback(address.host):
            problem = f"{listen} can be reached from other machines, by anybody who can reach it"
            raise ValueError(f"{problem}; say allow_remote=True (`--insecure`) if that is what you want")
        self._own: LogDir | None = None
        if not isinstance(logs, LogDir):
            logs = self._own = LogDir(logs, configs=configs, create=True, upkeep=upkeep)
        else:
            logs.make_missing()
            logs.close_first(self)
        self.logs = logs
        self._executor = ThreadPoolExecutor(_THREADS, "octavo-broker")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="octavo-broker", daemon=True)
        self._is_closed = False
        self._thread.start()
        on_fork(self)
        try:
            self._server = self._call(self._make_server)
            advertised = None if advertise is None else parse_address(advertise)
            self.address = asyncio.run_coroutine_threadsafe(
                self._server.listen(*address, advertised), self._loop
            ).result()
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap_servers(self) -> str:
        """The address that clients first connect to."""
        host, port = self.address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def close(self) -> None:
        """Close all connections, then the log directories, unless somebody else opened them."""
        if self._is_closed:
            return
        self._is_closed = True
        if hasattr(self, "_server"):
            self._call(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._executor.shutdown(cancel_futures=True)
        self._loop.close()
        if self._own is not None:
            self._own.close()

    def disown(self) -> None:
        """In a forked child: there is no loop to close here, and the connections are the parent's."""
        self._is_closed = True

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else f"listening on {self.bootstrap_servers}"
        return f"<Broker of {', '.join(str(root.path) for root in self.logs.roots)}: {state}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _make_server(self) -> Server:
        logs, config = self.logs, self.logs.broker_config
        clock = logs.environment.clock
        context = Context(
            logs=logs,
            catalog=Catalog(logs),
            producer_ids=logs.producer_ids,
            sessions=FetchSessions(clock, config.max_incremental_fetch_session_cache_slots),
            node_id=logs.node_id,
            cluster_id=logs.cluster_id,
            config=config,
            loop=self._loop,
        )
        limits = ConnectionLimits(
            clock,
            max_frame_bytes=config.socket_request_max_bytes,
            max_connections=config.max_connections,
            max_connections_per_ip=config.max_connections_per_ip,
            max_idle_ms=config.connections_max_idle_ms,
            max_queued_bytes=config.queued_max_request_bytes,
        )
        return Server(Dispatcher(context, self._executor), limits)

    def _call(self, function: Callable[[], Result]) -> Result:
        """Run a function on the loop's thread."""

        async def call() -> Result:
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result()


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def parse_address(text: str) -> Endpoint:
    """Parse `host:port` or `[ipv6]:port`; port 0 means any free port."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"address {text!r} is not host:port")
    return Endpoint(host.removeprefix("[").removesuffix("]"), int(port))
