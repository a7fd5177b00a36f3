"""`octavo.Broker`: a Kafka broker for log directories, on its own thread."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from typing import TypeVar

from octavo.broker.catalog import Catalog
from octavo.broker.context import Context
from octavo.broker.dispatch import Dispatcher
from octavo.broker.limits import ConnectionLimits
from octavo.broker.metrics import MetricsServer
from octavo.broker.network.server import Server, bind
from octavo.broker.quotas.store import QuotaStore
from octavo.broker.security.authorizer import Authorizer
from octavo.broker.security.listeners import Endpoint, Listener, check_exposure, listeners_of, parse_listener
from octavo.broker.security.store import SecurityStore
from octavo.broker.sessions import FetchSessions
from octavo.broker.verifications import Verifications
from octavo.client.log_dir import LogDir
from octavo.config import Given
from octavo.errors import ConfigError
from octavo.jobs.owner import Ownership, owned_as
from octavo.storage.directory.log_roots import Paths
from octavo.system.closing import AsyncClosing
from octavo.system.forks import on_fork
from octavo.system.os_errors import described

_log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

_STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_ANY_LOCAL_PORT = "127.0.0.1:0"
_ROUNDS_TO_END = 2  # of the loop: a TLS connection learns only in the second round that it is closed
_THREADS = 4  # for work that waits for a disk, such as creating and deleting topics


class Broker(AsyncClosing):
    """Serves log directories to Kafka's clients until it is closed; use it in a `with` or `async with` statement.

    Given paths, it opens them, with a broker's upkeep unless `upkeep` is False, and closes them at the end; given a
    LogDir, it serves that and leaves it open. Either way, `logs` is the LogDir that it serves. It listens on loopback,
    on a free port, unless told otherwise: `listen` is one address or several, each `[PROTOCOL://]host:port`, where
    PROTOCOL is PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, or a name in `listener.security.protocol.map`; none may occur
    twice. `advertise` gives the addresses that clients are told to use instead, in the same form. `configs` has Kafka's
    names; a LogDir that is already open has its own `configs` and `upkeep`, so neither can be given here. The config
    `listeners` is used if `listen` is not given. An address that other machines can use without logging in needs
    `allow_remote`; `metrics` has no login.

    With `read_only` every request that would change something is refused, and paths are neither locked nor changed:
    clients see the directories as recovery would leave them at the start. They may be the disk of a dead broker, a
    backup, or a running broker's directories; what that broker appends later is not seen. URLs, such as
    `s3://bucket/logs`, are served too: what clients read is fetched into a temporary folder, which is removed at the
    end. `metrics` is an address on which Prometheus finds the broker's metrics; it needs the extra `octavo[metrics]`.
    """

    def __init__(
        self,
        logs: LogDir | Paths,
        *,
        listen: str | Sequence[str] | None = None,
        advertise: str | Sequence[str] | None = None,
        configs: Mapping[str, Given] | None = None,
        upkeep: bool = True,
        allow_remote: bool = False,
        read_only: bool = False,
        metrics: str | None = None,
    ) -> None:
        if isinstance(logs, LogDir) and (configs or not upkeep):
            name = "configs" if configs else "upkeep"
            raise ConfigError(f"{name} cannot be given for an open LogDir: give it to the LogDir when you open it")
        given = logs.broker_properties if isinstance(logs, LogDir) else configs or {}
        listeners = check_addresses(listen, advertise, given, allow_remote=allow_remote, metrics=metrics)
        self._is_read_only = read_only
        with ExitStack() as opening:
            if isinstance(logs, LogDir):
                self.logs = logs
            elif read_only:
                self.logs = opening.enter_context(owned_as(LogDir, logs, Ownership.read_only(configs or {})))
            else:
                self.logs = opening.enter_context(LogDir(logs, configs=configs, create=True, upkeep=upkeep))
            for folder, error in self.logs.unreadable.items():
                _log.warning("%s is not served: %s", folder, described(error))
            self.logs.make_missing()
            self._own = opening.pop_all()
        self._executor = ThreadPoolExecutor(_THREADS, "octavo-broker")
        self._loop = self.make_loop()
        self._thread = threading.Thread(target=self._run, name="octavo-broker", daemon=True)
        self._is_closed = False
        serving = asyncio.run_coroutine_threadsafe(self._serve(listeners), self._loop)
        self._thread.start()
        if self.logs is logs:
            self.logs.close_first(self)
        on_fork(self)
        try:
            self.addresses = serving.result()
            self.address = next(iter(self.addresses.values()))
            if metrics is not None:
                self._metrics = MetricsServer(self._server.collector(self.logs), parse_listener(metrics)[1])
                self.metrics_address = self._metrics.address
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap_servers(self) -> str:
        """The address that clients first connect to."""
        return str(self.address)

    def close(self) -> None:
        """Close all connections, then the log directories, unless the caller opened them."""
        if self._is_closed:
            return
        self._is_closed = True
        if hasattr(self, "_metrics"):
            self._metrics.close()
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop)
        self._thread.join()
        self._executor.shutdown(cancel_futures=True)
        self._loop.close()
        self._own.close()

    def disown(self) -> None:
        """In a forked child: close nothing, since the loop does not run there, and the connections are the parent's."""
        self._is_closed = True

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else f"listening on {self.bootstrap_servers}"
        return f"<Broker of {', '.join(str(root.path) for root in self.logs.roots)}: {state}>"

    def make_loop(self) -> asyncio.AbstractEventLoop:
        """The loop that serves all connections; a broker for tests has one that follows its clock."""
        return asyncio.new_event_loop()

    def make_dispatcher(self, context: Context, executor: Executor) -> Dispatcher:
        """The dispatcher, which answers the requests; a broker for tests has one that injects faults."""
        return Dispatcher(context, executor)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _serve(self, listeners: Sequence[Listener]) -> dict[str, Endpoint]:
        self._server = self._make_server()
        return {listener.name: await self._server.listen(listener) for listener in listeners}

    async def _stop(self) -> None:
        try:
            if hasattr(self, "_server"):
                self._server.close()
            for _ in range(_ROUNDS_TO_END):
                await asyncio.sleep(0)
        finally:
            self._loop.stop()

    def _make_server(self) -> Server:
        logs, config = self.logs, self.logs.broker_config
        clock = logs.environment.clock
        security = logs.shared(SecurityStore)
        authorizer = Authorizer(
            security,
            enabled=_enforces_acls(config.authorizer_class_name),
            super_users=(name.strip() for name in config.super_users.split(";") if name.strip()),
            allow_if_no_acl=config.allow_everyone_if_no_acl_found,
        )
        context = Context(
            log_dir=logs,
            catalog=Catalog(logs),
            producer_ids=logs.producer_ids,
            transactions=logs.transactions(start=not self._is_read_only),
            groups=logs.group_coordinator,
            sessions=FetchSessions(clock, config.max_incremental_fetch_session_cache_slots),
            verifications=Verifications(),
            node_id=logs.node_id,
            cluster_id=logs.cluster_id,
            loop=self._loop,
            security=security,
            authorizer=authorizer,
            quotas=logs.shared(QuotaStore),
            is_read_only=self._is_read_only,
        )
        return Server(self.make_dispatcher(context, self._executor), ConnectionLimits(logs))

    def _call(self, function: Callable[[], _Result]) -> _Result:
        """Run a function on the loop's thread, and return its result."""

        async def call() -> _Result:
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result()


def check_addresses(
    listen: str | Sequence[str] | None,
    advertise: str | Sequence[str] | None,
    configs: Mapping[str, Given],
    *,
    allow_remote: bool,
    metrics: str | None,
) -> list[Listener]:
    """The listeners of a broker. Raises if an address is invalid, exposed or in use: called before a directory is
    created, so that none is left behind."""
    if listen is None and "listeners" not in configs:
        listen = _ANY_LOCAL_PORT
    listeners = listeners_of(_several(listen), _several(advertise), configs)
    scraped = None if metrics is None else parse_listener(metrics)[1]
    if not allow_remote:
        check_exposure(listeners, scraped)
    for address in filter(None, (scraped, *(listener.address for listener in listeners))):
        if address.port:
            bind(address).close()
    return listeners


def _enforces_acls(authorizer: str) -> bool:
    if authorizer not in ("", _STANDARD_AUTHORIZER):
        raise ConfigError(f"authorizer.class.name is {authorizer}; Octavo supports only {_STANDARD_AUTHORIZER}")
    return bool(authorizer)


def _several(given: str | Sequence[str] | None) -> Sequence[str] | None:
    return [given] if isinstance(given, str) else given
