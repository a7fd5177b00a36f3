"""The options of the sink as one table, from which docs are made: those of Spark's Kafka sink, and our own."""

from __future__ import annotations

from octavo.spark.query.options import Option

SINK_OPTIONS = (
    Option("path", "", "both", "the log directory: what `save()` or `start()` is given"),
    Option("paths", "", "both", "several directories that belong together, as a JSON list", ours=True),
    Option("topic", "", "both", "the topic of all rows; it goes before the column topic"),
    Option("includeHeaders", "false", "both", "accepted, as in Spark's sink: a column headers is written in any case"),
    Option(
        "txnAppId",
        "",
        "both",
        "names the writer, so that it commits a batch once; streams need no other name",
        ours=True,
    ),
    Option(
        "txnVersion", "", "batch", "with txnAppId: a number that grows; one that was committed is skipped", ours=True
    ),
    Option(
        "checkpointLocation",
        "",
        "stream",
        "the query's checkpoint, as an option of the writer: its id there names the writer, unless txnAppId does",
    ),
    Option("autoCreateTopics", "true", "both", "make topics that are not there; false: refuse their rows", ours=True),
    Option("partitions", "1", "both", "how many partitions topics get that are made", ours=True),
    Option("topicConfig.*", "", "both", "configs of topics that are made: topicConfig.cleanup.policy", ours=True),
    Option(
        "lockTimeout", "60s", "both", "how long a commit waits for a directory that another writer has open", ours=True
    ),
    Option("kafka.batch.size", "16384", "both", "bytes of a batch before compression"),
    Option(
        "kafka.compression.type", "none", "both", "gzip, snappy, lz4 or zstd; the topic's compression.type goes first"
    ),
    Option("kafka.compression.*.level", "", "both", "of gzip, lz4 and zstd"),
    Option("kafka.partitioner.ignore.keys", "false", "both", "spread rows with a key, too, as those without"),
    Option(
        "kafka.*",
        "",
        "both",
        "what else configures a Kafka producer (bootstrap.servers too) is ignored: there is no broker. As in Spark's"
        " sink, key.serializer and value.serializer are refused",
    ),
)
