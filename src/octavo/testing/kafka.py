"""`octavo.testing.Kafka`: a real broker that a test starts, watches, disturbs and closes."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from octavo import ConsumerRecord, LogDir, Producer, RecordMetadata, scan
from octavo.client.producer.encode import Headers
from octavo.config import Given
from octavo.system.closing import AsyncClosing
from octavo.testing.clock import BrokerClock
from octavo.testing.faults import Faults
from octavo.testing.groups import GroupView, described_groups
from octavo.testing.journal import JournalEntry
from octavo.testing.slate import Slate

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Kafka(AsyncClosing):
    """A Kafka broker on a free port of this machine, with its own log directory, until it is closed.

        with Kafka() as kafka:
            producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap_servers})

    `async with` works too. The broker has the configs that tests want (no waiting for a first rebalance, internal
    topics with one partition), which `configs` override. It does not sync what it
    writes to disk.

    Args:
        configs: broker configs by Kafka's names.
        start_from: a log directory, or a partition's folder: the broker begins with a copy of it.
        path: the folder in which to create and keep the log directory, `logs`; by default a temporary one, which
            `close` removes.
    """

    def __init__(
        self,
        *,
        configs: Mapping[str, Given] | None = None,
        start_from: str | Path | None = None,
        path: str | Path | None = None,
    ) -> None:
        self._configs = dict(configs or {})
        self.is_temporary = path is None  # whether `close` removes the log directory
        self._base = Path(tempfile.mkdtemp(prefix="octavo-")) if path is None else Path(path)
        self._numbers = itertools.count(1)
        self._is_closed = False
        self._producer: Producer | None = None
        try:
            self._slate = Slate(self._base / "logs", self._configs, start_from)
        except BaseException:
            self._remove()
            raise

    @property
    def bootstrap_servers(self) -> str:
        """The address that clients connect to."""
        return self._slate.broker.bootstrap_servers

    @property
    def clock(self) -> BrokerClock:
        """The broker's clock, which `advance` moves."""
        return self._slate.clock

    @property
    def faults(self) -> Faults:
        """Makes requests fail, get lost or take long."""
        return self._slate.broker.faults

    @property
    def logs(self) -> LogDir:
        """The log directory: producers, consumers and transactions in process, retention, cleaning, configs."""
        return self._slate.logs

    @property
    def path(self) -> Path:
        """The log directory on disk."""
        return self.logs.paths[0]

    @property
    def requests(self) -> list[JournalEntry]:
        """The last requests that the broker got, the newest last."""
        return self._slate.broker.journal.entries

    def topic(self, name: str | None = None, partitions: int = 1, **configs: Given) -> str:
        """Create a topic and return its name; without a name, one is made up.

            orders = kafka.topic(partitions=3, cleanup_policy="compact")

        In the names of configs, underscores stand for dots.
        """
        name = name or f"topic-{next(self._numbers)}"
        self.logs.create_topic(name, partitions, {key.replace("_", "."): value for key, value in configs.items()})
        return name

    def produce(
        self,
        topic: str,
        *values: object,
        key: object = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> list[RecordMetadata]:
        """Append records with these values, as bytes or text, and wait for them; a missing topic is created.

            kafka.produce("orders", "a coffee", "a tea", key="table 5")

        This does not use the network, so no fault hits it. `kafka.logs.producer()` can do more, such as transactions.
        """
        if topic not in self.logs.topics:
            self.logs.create_topic(topic)
        if self._producer is None:
            self._producer = self.logs.producer()
        futures = [self._producer.send(topic, value, key, headers, partition, timestamp) for value in values]
        self._producer.flush()
        return [future.get() for future in futures]

    @overload
    def records(self, topic: str, as_: type[list[Any]] = ..., **options: Any) -> list[ConsumerRecord]: ...
    @overload
    def records(self, topic: str, as_: Literal["arrow"], **options: Any) -> pyarrow.Table: ...
    @overload
    def records(self, topic: str, as_: Literal["pandas"], **options: Any) -> pandas.DataFrame: ...
    def records(self, topic: str, as_: type[list[Any]] | str = list, **options: Any) -> Any:
        """All records that a topic holds now, by partition and offset, without consuming them.

            assert [record.value for record in kafka.records("orders")] == [b"a coffee"]

        `as_` is list, "arrow" or "pandas"; the options are those of `octavo.scan`, such as
        `isolation_level="read_committed"`.
        """
        self._slate.broker.run_timers()  # a commit is answered before its markers are in the logs
        found = scan(self.logs.paths, topic, **options)
        if as_ is list:
            return list(found)
        if as_ == "arrow":
            return found.to_table()
        if as_ == "pandas":
            return found.to_pandas()
        raise ValueError(f"as_ is {as_!r}; give list, 'arrow' or 'pandas'")

    def groups(self) -> dict[str, GroupView]:
        """The consumer groups by name: state, members, committed offsets, lag."""
        return described_groups(list(self.logs.paths))

    def disconnect(self) -> None:
        """Close all connections, as if the network had failed; clients can connect again at once."""
        self._slate.broker.disconnect()

    def reset(self, start_from: str | Path | None = None) -> None:
        """Begin again at the same address, at the machine's time, without topics, groups, transactions or faults.

        With `start_from` the broker begins with a copy of a log directory, or of a partition's folder. All connections
        are closed; a client that is still running connects again.
        """
        port = self._slate.broker.address.port
        self._close_slate(discard=True)
        shutil.rmtree(self._base / "logs")
        self._slate = Slate(self._base / "logs", self._configs, start_from, port)

    def last_requests(self, count: int) -> str:
        """The last requests as text, for a report."""
        return self._slate.broker.journal.last(count)

    def close(self) -> None:
        """Close all connections and the log directory; a temporary one is removed."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self._close_slate(discard=self.is_temporary)
        finally:
            self._remove()

    def _close_slate(self, *, discard: bool) -> None:
        self._producer = None
        self._slate.logs.close(discard=discard)  # which closes the broker first

    def _remove(self) -> None:
        if self.is_temporary:
            shutil.rmtree(self._base, ignore_errors=True)

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else f"listening on {self.bootstrap_servers}"
        return f"<Kafka in {self._base / 'logs'}: {state}>"
