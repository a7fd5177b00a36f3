"""The options of the sink: the table from which the docs are generated, and their values after `parsing` has checked
them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.format.batches.batch_run import BatchSettings
from octavo.spark.query.options import Option
from octavo.storage.staging.destinations import NewTopics

if TYPE_CHECKING:
    from octavo.storage.publish import Publisher

# The options of Spark's Kafka sink, and our own.
SINK_OPTIONS = (
    Option("path", "", "both", "the log directory: what `save()` or `start()` is given"),
    Option("paths", "", "both", "several directories that belong together, as a JSON list", ours=True),
    Option("topic", "", "both", "the topic of all rows; it overrides the `topic` column"),
    Option("includeHeaders", "false", "both", "accepted, as in Spark's sink: a `headers` column is always written"),
    Option(
        "txnAppId",
        "",
        "both",
        "names the writer, so that a batch is committed only once; a stream with it needs no checkpointLocation",
        ours=True,
    ),
    Option(
        "txnVersion",
        "",
        "batch",
        "with txnAppId: a number that grows with each batch; a batch whose number is not above the last committed one"
        " is skipped",
        ours=True,
    ),
    Option(
        "checkpointLocation",
        "",
        "stream",
        "the query's checkpoint, as an option of the writer; the query id in it names the writer, unless txnAppId does",
    ),
    Option("autoCreateTopics", "true", "both", "create missing topics; false: refuse their rows", ours=True),
    Option("partitions", "1", "both", "how many partitions a created topic gets", ours=True),
    Option("topicConfig.*", "", "both", "configs of created topics, such as topicConfig.cleanup.policy", ours=True),
    Option(
        "lockTimeout", "60s", "both", "how long a commit waits for a directory that another writer holds", ours=True
    ),
    Option("kafka.batch.size", "16384", "both", "how many bytes a batch may have before compression"),
    Option(
        "kafka.compression.type", "none", "both", "gzip, snappy, lz4 or zstd; the topic's compression.type overrides it"
    ),
    Option("kafka.compression.*.level", "", "both", "the level of gzip, lz4 or zstd"),
    Option("kafka.partitioner.ignore.keys", "false", "both", "spread rows with a key like those without"),
    Option(
        "kafka.*",
        "",
        "both",
        "other configs of a Kafka producer, even bootstrap.servers, are ignored: there is no broker. As in Spark's"
        " sink, key.serializer and value.serializer are refused",
    ),
)


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """All options, checked. Picklable, because tasks get them."""

    roots: tuple[Path, ...]
    topic: str | None
    batches: BatchSettings
    ignore_keys: bool
    new_topics: NewTopics
    lock_timeout_seconds: float
    app_id: str | None
    version: int | None
    checkpoint: str | None

    @property
    def publisher(self) -> Publisher:
        from octavo.storage.publish import Publisher  # tasks do not need it

        return Publisher(roots=self.roots, lock_timeout_seconds=self.lock_timeout_seconds)
