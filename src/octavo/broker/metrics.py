"""The broker's metrics, in the form that Prometheus reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.broker.limits import ConnectionLimits
from octavo.broker.security.listeners import Endpoint
from octavo.client.log_dir import LogDir
from octavo.system.os_errors import placed

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_MISSING = "metrics need the package prometheus-client, which is not installed: pip install 'octavo[metrics]'"


@dataclass(slots=True, eq=False)
class RequestCount:
    """The requests of one API in one version, and the time until each is answered, or begins to wait, such as for more
    records or a disk.

    Lives on the loop's thread; other threads may read it.
    """

    api: str
    requests: int = 0
    received_bytes: int = 0
    seconds: float = 0.0


class BrokerCollector:
    """Collects the metrics when they are requested."""

    def __init__(self, log_dir: LogDir, counts: Callable[[], list[RequestCount]], limits: ConnectionLimits) -> None:
        self._log_dir = log_dir
        self._counts = counts
        self._limits = limits

    def collect(self) -> Iterable[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        counts = self._counts()
        requests = CounterMetricFamily("octavo_requests", "Requests that were handled.", labels=["api"])
        seconds = CounterMetricFamily("octavo_request_seconds", "Time spent on handling requests.", labels=["api"])
        for api in dict.fromkeys(count.api for count in counts):
            requests.add_metric([api], sum(count.requests for count in counts if count.api == api))
            seconds.add_metric([api], sum(count.seconds for count in counts if count.api == api))
        yield requests
        yield seconds
        received_bytes = sum(count.received_bytes for count in counts)
        yield CounterMetricFamily("octavo_received_bytes", "Bytes received in requests.", value=received_bytes)
        yield GaugeMetricFamily("octavo_connections", "Open connections.", value=len(self._limits.connections))
        yield GaugeMetricFamily(
            "octavo_offline_directories", "Directories that failed.", value=len(self._log_dir.offline)
        )
        labels = ["topic", "partition"]
        size = GaugeMetricFamily("octavo_log_size_bytes", "Size of a partition's log.", labels=labels)
        start = GaugeMetricFamily("octavo_log_start_offset", "First offset of a partition.", labels=labels)
        end = GaugeMetricFamily("octavo_log_end_offset", "Next offset of a partition.", labels=labels)
        for (topic, partition), log in sorted(self._log_dir.logs.items()):
            names = [topic, str(partition)]
            size.add_metric(names, log.size)
            start.add_metric(names, log.log_start_offset)
            end.add_metric(names, log.log_end_offset)
        yield from (size, start, end)


class MetricsServer:
    """Serves the metrics over HTTP, on its own thread."""

    def __init__(self, collector: BrokerCollector, address: Endpoint) -> None:
        try:
            from prometheus_client import CollectorRegistry, start_http_server
        except ImportError:
            raise ImportError(_MISSING) from None
        registry = CollectorRegistry()
        registry.register(collector)
        with placed(address):
            self._server, self._thread = start_http_server(address.port, address.host, registry)
        self.address = Endpoint(address.host, self._server.server_port)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
