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
    Option("path", "the log directory: what `save()` or `start()` is given"),
    Option("paths", "several directories that belong together, as a JSON list", ours=True),
    Option("topic", "the topic of all rows; it overrides the `topic` column"),
    Option("includeHeaders", "accepted, as in Spark's sink: a `headers` column is always written", default="false"),
    Option(
        "txnAppId",
        "names the writer, so that each batch of a stream, or each txnVersion, is committed only once; a stream with it"
        " may take its checkpointLocation from the session",
        ours=True,
    ),
    Option(
        "txnVersion",
        "with txnAppId: a number that grows with each batch; a batch whose number is not above the last committed one"
        " is skipped",
        scope="batch",
        ours=True,
    ),
    Option(
        "checkpointLocation",
        "the query's checkpoint, as an option of the writer; the query id in it names the writer, unless txnAppId does",
        scope="stream",
    ),
    Option("autoCreateTopics", "create missing topics; false: refuse their rows", default="true", ours=True),
    Option("partitions", "how many partitions a created topic gets", default="1", ours=True),
    Option("topicConfig.*", "configs of created topics, such as topicConfig.cleanup.policy", ours=True),
    Option(
        "lockTimeout", "how long a commit waits for a directory that another writer holds", default="60s", ours=True
    ),
    Option("kafka.batch.size", "how many bytes a batch may have before compression", default="16384"),
    Option(
        "kafka.compression.type", "gzip, snappy, lz4 or zstd; the topic's compression.type overrides it", default="none"
    ),
    Option("kafka.compression.*.level", "the level of gzip, lz4 or zstd"),
    Option("kafka.partitioner.ignore.keys", "spread rows with a key like those without", default="false"),
    Option(
        "kafka.*",
        "other configs of a Kafka producer, even bootstrap.servers, are ignored: there is no broker. As in Spark's"
        " sink, key.serializer and value.serializer are refused",
    ),
)


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """The checked options. Picklable, because tasks get them."""

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
