"""The source's options in one table, from which the docs are generated: those of Spark's Kafka source, and our own."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from octavo.errors import ConfigError, did_you_mean, suggestion
from octavo.format.compression import DEFAULT_LIMIT

_Scope = Literal["batch", "stream", "both"]

PARTITION_BYTES = 128 << 20

_log = logging.getLogger("octavo.spark")


@dataclass(frozen=True, slots=True)
class Option:
    """One option; `scope` says which queries it affects. The case of its name does not matter, as in Spark."""

    name: str
    default: str
    scope: _Scope
    meaning: str
    ours: bool = False  # an option of neither Spark nor its Kafka source


SOURCE_OPTIONS = (
    Option(
        "path",
        "",
        "both",
        "a log directory, a partition's folder, a segment file, a URL, or a pattern of local paths such as"
        " `/disks/*`: what `load()` is given",
    ),
    Option("paths", "", "both", "several such places, as a JSON list; `load([…])` sets it", ours=True),
    Option(
        "assign",
        "",
        "both",
        'partitions: `{"topicA":[0,1]}`; one of assign, subscribe and subscribePattern; without any, all'
        " topics but Kafka's internal ones",
    ),
    Option("subscribe", "", "both", "topics, separated by commas"),
    Option(
        "subscribePattern",
        "",
        "both",
        "a Java regular expression that is searched for in topics' names; see below for what is not supported",
    ),
    Option("startingTimestamp", "", "both", "milliseconds: the first record from then on, in every partition"),
    Option(
        "startingOffsetsByTimestamp",
        "",
        "both",
        'the same for each partition: `{"topicA":{"0":1000}}`; all partitions must be named',
    ),
    Option(
        "startingOffsets",
        "latest; batch: earliest",
        "both",
        'earliest, latest, or `{"topicA":{"0":23,"1":-2}}` with -2 earliest and -1 latest; a batch cannot start at'
        " latest; a stream uses it only when it first starts",
    ),
    Option(
        "startingOffsetsByTimestampStrategy",
        "error",
        "both",
        "what to do if no record is that late: error, or latest",
    ),
    Option("endingTimestamp", "", "batch", "milliseconds: end before the first record of that time or later"),
    Option("endingOffsetsByTimestamp", "", "batch", "the same for each partition"),
    Option(
        "endingOffsets",
        "latest",
        "batch",
        "latest, offsets, or highWatermark (not in Spark's source; for streams too): the end of what the broker's "
        "checkpoint says is committed",
    ),
    Option(
        "failOnDataLoss",
        "true",
        "both",
        "fail if records were deleted before they were read; false: continue after them, with a warning. Gaps that"
        " compaction or transactions leave are not a loss",
    ),
    Option(
        "onDamage",
        "fail",
        "both",
        "fail, or skip: damaged batches and files that cannot be read are left out, each with a warning",
        ours=True,
    ),
    Option(
        "maxOffsetsPerTrigger",
        "",
        "stream",
        "at most this many offsets in a micro-batch, divided among partitions by their backlogs",
    ),
    Option(
        "maxBytesPerTrigger",
        "",
        "stream",
        "at most about this many bytes of log in a micro-batch, divided in the same way",
        ours=True,
    ),
    Option("minOffsetsPerTrigger", "", "stream", "wait for this many offsets before a micro-batch"),
    Option("maxTriggerDelay", "15m", "stream", "the longest that minOffsetsPerTrigger waits"),
    Option(
        "commitGroup",
        "",
        "stream",
        "a group whose committed offsets follow the stream, so that lag tools see how far it has read; see above",
        ours=True,
    ),
    Option(
        "commitServers",
        "",
        "stream",
        "the broker that commitGroup sends the offsets to, as host:port, or several separated by commas; without it"
        " they are written to the directory, so no broker may hold it",
        ours=True,
    ),
    Option(
        "lockTimeout",
        "60s",
        "stream",
        "how long commitGroup waits for a directory that another process holds, or for the broker of commitServers",
        ours=True,
    ),
    Option("minPartitions", "", "both", "split the largest offset ranges until there are about this many Spark tasks"),
    Option("maxRecordsPerPartition", "", "both", "split offset ranges that have more offsets than this"),
    Option(
        "partitionBytes",
        str(PARTITION_BYTES),
        "both",
        "about how many bytes of log a Spark task reads at most",
        ours=True,
    ),
    Option(
        "maxUnpackedBytes",
        str(DEFAULT_LIMIT),
        "both",
        "how many bytes a compressed batch may unpack to; a larger one counts as damaged",
        ours=True,
    ),
    Option("includeHeaders", "false", "both", "add the column `headers`"),
    Option("columns", "all", "both", "some of the columns, separated by commas; the others are not built", ours=True),
    Option("isolationLevel", "read_uncommitted", "both", "read_uncommitted or read_committed", ours=True),
    Option("kafka.isolation.level", "read_uncommitted", "both", "the same as isolationLevel, which takes precedence"),
    Option(
        "kafka.*",
        "",
        "both",
        "other configs of a Kafka consumer, even bootstrap.servers, are ignored: there is no broker. As in Spark's"
        " source, auto.offset.reset, key.deserializer, value.deserializer, enable.auto.commit and interceptor.classes"
        " are refused",
    ),
    Option("groupIdPrefix", "", "both", "ignored: the source joins no consumer group"),
    Option("kafkaConsumer.pollTimeoutMs", "", "both", "without effect: nothing is polled"),
    Option("fetchOffset.numRetries", "", "both", "without effect: listings are retried automatically"),
    Option("fetchOffset.retryIntervalMs", "", "both", "without effect"),
    Option("partition.metadata.cache.ttl.ms", "", "both", "ignored: every micro-batch lists the partitions again"),
)

_KNOWN = {option.name.lower(): option for option in SOURCE_OPTIONS}
# Options that Spark itself adds, or that a user gives for another part of the query.
_SPARKS = frozenset({"checkpointlocation", "inferschema", "mergeschema", "header", "timezone"})


# What users of `octavo.scan` and of the sink type.
_MEANT = {
    "topics": "subscribe",
    "topic": "subscribe",
    "partitions": "assign",
    "from_offset": "startingOffsets",
    "to_offset": "endingOffsets",
    "from_timestamp": "startingTimestamp",
    "to_timestamp": "endingTimestamp",
    "split_bytes": "partitionBytes",
}


def is_among(name: str, options: Iterable[Option]) -> bool:
    """Whether a table of options has this one; `kafka.*` in the table stands for all such names."""
    return any(fnmatchcase(name.lower(), option.name.lower()) for option in options)


def without_others(given: Mapping[str, str], own: Iterable[Option], of_others: Iterable[Option]) -> dict[str, str]:
    """The given options, except those that only others have: a table has options for reading and for writing it."""
    return {name: text for name, text in given.items() if is_among(name, own) or not is_among(name, of_others)}


def hint_for(name: str) -> str:
    """The end of a message about an unknown option of the source."""
    meant = _MEANT.get(name.lower())
    return did_you_mean(name, [option.name for option in SOURCE_OPTIONS]) if meant is None else suggestion([meant])


def refuse_unknown(options: Iterable[str], function: str) -> None:
    """Raise ConfigError for an option that the source does not have: no other part of a query gets a function's."""
    for name in options:
        if not is_among(name, SOURCE_OPTIONS):
            raise ConfigError(
                f"{function} has no option {name!r}{hint_for(name)}; its options are those of format('octavo')"
            )


def warn_of(options: Mapping[str, str], scope: _Scope) -> None:
    """Warn about options that have no effect: unknown ones, which Spark silently ignores, and ones of another scope."""
    for name in sorted(options):
        known = _KNOWN.get(name.lower())
        if known is not None and known.scope not in ("both", scope):
            _log.warning("%s option ignored in %s queries", known.name, "batch" if scope == "batch" else "streaming")
        elif known is None and not name.lower().startswith("kafka.") and name.lower() not in _SPARKS:
            _log.warning("unknown option %s is ignored%s", name, hint_for(name))
