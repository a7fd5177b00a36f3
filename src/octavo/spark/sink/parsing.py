"""Checks the options of the sink before a task runs: those of Spark's Kafka sink, a producer's configs, and our own."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql.datasource import CaseInsensitiveDict

from octavo.client.producer.config import PRODUCER_CONFIGS, ProducerConfig
from octavo.config import BrokerConfig, Given, LogConfig
from octavo.errors import ConfigError, did_you_mean
from octavo.format.batches.batch_run import BatchSettings
from octavo.spark.query.source_options import paths_of, writable_path
from octavo.spark.query.values import boolean, count, given, integer, wait_ms
from octavo.spark.sink.options import SINK_OPTIONS, SinkOptions
from octavo.storage.staging.destinations import NewTopics

_USED = {"batch.size", "compression.type", "partitioner.ignore.keys"} | {
    name for name in PRODUCER_CONFIGS if name.startswith("compression.")
}
_TOPIC_CONFIG = "topicconfig."
_REFUSED = {"key.serializer": "keys", "value.serializer": "value"}
# Spark's own options, or those of another part of the query.
_SPARKS = frozenset({"queryname", "outputmode"})

_log = logging.getLogger("octavo.spark")


def parse_options(texts: Mapping[str, str]) -> SinkOptions:
    """The checked options; raises ConfigError if one is wrong."""
    options = CaseInsensitiveDict(texts)
    _warn_of(options)
    for config, what in _REFUSED.items():
        if f"kafka.{config}" in options:
            raise ConfigError(
                f"Kafka option '{config}' is not supported as {what} are serialized with ByteArraySerializer."
            )
    producer = ProducerConfig.of({name: options[f"kafka.{name}"] for name in _USED if f"kafka.{name}" in options})
    version = given(integer, "txnVersion", options)
    if version is not None and version < 0:
        raise ConfigError(f"txnVersion is {version}, expected 0 or more")
    if version is not None and "txnAppId" not in options:
        raise ConfigError(f"txnVersion is {version}, but there is no txnAppId; give that too")
    topic = options["topic"].strip() if "topic" in options else None
    return SinkOptions(
        tuple(Path(writable_path(place)) for place in paths_of(options)),
        topic,
        BatchSettings(producer.batch_size, producer.codec, producer.level),
        producer.partitioner_ignore_keys,
        _new_topics(options),
        wait_ms("lockTimeout", options.get("lockTimeout", "60s")) / 1000,
        options.get("txnAppId"),
        version,
        options.get("checkpointLocation"),
    )


def _new_topics(options: Mapping[str, str]) -> NewTopics:
    default = BrokerConfig.of({}).num_partitions
    configs: dict[str, Given] = {
        name[len(_TOPIC_CONFIG) :]: value for name, value in options.items() if name.lower().startswith(_TOPIC_CONFIG)
    }
    LogConfig.of(configs)  # raises if one is wrong
    return NewTopics(
        create=boolean("autoCreateTopics", options.get("autoCreateTopics", "true")),
        partitions=count("partitions", options["partitions"], "partitions") if "partitions" in options else default,
        configs=configs,
    )


def _warn_of(options: Mapping[str, str]) -> None:
    """Warn about unknown options, which have no effect."""
    names = [option.name for option in SINK_OPTIONS]
    known = set(map(str.lower, names))
    for name in map(str.lower, options):
        if name not in known and name not in _SPARKS and not name.startswith(("kafka.", _TOPIC_CONFIG)):
            _log.warning("unknown option %s is ignored%s", name, did_you_mean(name, names))
