"""The checked options that batch and stream queries have in common."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pyspark.sql.datasource import CaseInsensitiveDict

from octavo.errors import ConfigError, ScanError
from octavo.spark.query.options import PARTITION_BYTES
from octavo.spark.query.schema import columns_of, schema_of
from octavo.spark.query.stream_options import check_trigger_limits
from octavo.spark.query.subscription import QuerySubscription
from octavo.spark.query.values import INT32, INT64, boolean, count, given, integer, positive
from octavo.system.urls import local_path, shown_url

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from octavo.scanner.findings import OnDamage
    from octavo.scanner.reading.plan import IsolationLevel

OnNoMatch = Literal["error", "latest"]

_REFUSED = {
    "auto.offset.reset": "Instead set the source option 'startingOffsets' to 'earliest' or 'latest' to specify where"
    " to start.",
    "key.deserializer": "Keys are byte arrays. Use DataFrame operations to explicitly deserialize the keys.",
    "value.deserializer": "Values are byte arrays. Use DataFrame operations to explicitly deserialize the values.",
    "enable.auto.commit": "",
    "interceptor.classes": "",
}
# Options that tune how Spark's source talks to a broker: checked as in Spark, but not used.
_UNUSED = {
    "kafkaConsumer.pollTimeoutMs": INT64,
    "fetchOffset.numRetries": INT32,
    "fetchOffset.retryIntervalMs": INT64,
}


@dataclass(frozen=True, slots=True)
class Splitting:
    """How the work is divided into tasks."""

    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    partition_bytes: int = PARTITION_BYTES


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Picklable: readers carry it to their tasks."""

    paths: tuple[str, ...]
    subscription: QuerySubscription
    columns: tuple[str, ...]
    isolation_level: IsolationLevel
    fail_on_data_loss: bool
    on_no_match: OnNoMatch
    splitting: Splitting
    max_unpacked_bytes: int | None = None
    on_damage: OnDamage = "raise"

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SourceOptions:
        """Check the options common to batch and stream; raises ConfigError for a wrong one, and ScanError for a pattern
        that matches no path."""
        options = CaseInsensitiveDict(options)
        _refuse_configs(options)
        for name, numbers in _UNUSED.items():
            if name in options:
                integer(name, options[name], numbers)
        check_trigger_limits(options)
        return cls(
            tuple(expanded(paths_of(options))),
            QuerySubscription.of(options),
            columns_of(options.get("columns"), boolean("includeHeaders", options.get("includeHeaders", "false"))),
            _isolation_level(options),
            boolean("failOnDataLoss", options.get("failOnDataLoss", "true")),
            _on_no_match(options),
            Splitting(
                count("minPartitions", options["minPartitions"], "tasks") if "minPartitions" in options else None,
                given(positive, "maxRecordsPerPartition", options),
                given(positive, "partitionBytes", options) or PARTITION_BYTES,
            ),
            given(positive, "maxUnpackedBytes", options),
            _on_damage(options),
        )

    def schema(self) -> StructType:
        return schema_of(self.columns)


def writable_path(place: str) -> str:
    """The local path of a place; raises ConfigError for a URL."""
    path = local_path(place)
    if path is None:
        raise ConfigError(f"{shown_url(place)}: cannot write to a URL; give a path that all workers see")
    return path


def paths_of(options: Mapping[str, str]) -> tuple[str, ...]:
    """The given places: URLs, and local paths made absolute, because a task's process may not have the driver's working
    directory."""
    given = [options["path"]] if "path" in options else []
    if "paths" in options:
        try:
            listed = json.loads(options["paths"])
        except ValueError:
            listed = None
        if not isinstance(listed, list) or not all(isinstance(path, str) for path in listed):
            raise ConfigError(f"""paths: expected a JSON list such as ["/disk1", "/disk2"], got {options["paths"]}""")
        given += listed
    if not given:
        raise ConfigError(
            "no log directory: pass one to load(), save() or start(), or a JSON list of them as option 'paths'; in SQL,"
            " create the table without a list of columns (CREATE TABLE … USING octavo OPTIONS (…) LOCATION '…'), and"
            " name the columns of an INSERT; CREATE TABLE … AS SELECT cannot be used"
        )
    return tuple(dict.fromkeys(map(_absolute, given)))


def expanded(places: Iterable[str]) -> Iterator[str]:
    """The places, with local patterns such as `/disks/*` replaced by all paths that match, hidden ones too."""
    for place in places:
        if local_path(place) is None or os.path.lexists(place) or not glob.has_magic(place):
            yield place
            continue
        matching = sorted(glob.glob(place, include_hidden=True))  # noqa: PTH207 - text, as URLs are
        if not matching:
            raise ScanError(f"{place}: no path matches this pattern")
        yield from matching


def _absolute(place: str) -> str:
    path = local_path(place)
    return place if path is None else os.path.abspath(path)  # noqa: PTH100 - text, as URLs are


def _refuse_configs(options: Mapping[str, str]) -> None:
    for config, instead in _REFUSED.items():
        if f"kafka.{config}" in options:
            raise ConfigError(f"Kafka option '{config}' is not supported. {instead}".rstrip())


def _isolation_level(options: Mapping[str, str]) -> IsolationLevel:
    name = "isolationLevel" if "isolationLevel" in options else "kafka.isolation.level"
    level = options.get(name, "read_uncommitted")
    if level == "read_uncommitted":
        return "read_uncommitted"
    if level == "read_committed":
        return "read_committed"
    raise ConfigError(
        f"Invalid value {level} for configuration {name}: String must be one of: read_committed, read_uncommitted"
    )


def _on_no_match(options: Mapping[str, str]) -> OnNoMatch:
    strategy = options.get("startingOffsetsByTimestampStrategy", "error")
    if strategy.lower() == "error":
        return "error"
    if strategy.lower() == "latest":
        return "latest"
    raise ConfigError(
        f"startingOffsetsByTimestampStrategy: No value found for '{strategy.upper()}', expected error or latest"
    )


def _on_damage(options: Mapping[str, str]) -> OnDamage:
    choice = options.get("onDamage", "fail")
    if choice.lower() == "fail":
        return "raise"
    if choice.lower() == "skip":
        return "skip"
    raise ConfigError(f"onDamage is {choice}, expected fail or skip")
