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
    meaning: str
    default: str = ""
    scope: _Scope = "both"
    ours: bool = False  # not an option of Spark or of its Kafka source and sink


SOURCE_OPTIONS = (
    Option(
        "path",
        "a log directory, a partition's folder, a segment file, a URL, or a pattern of local paths such as"
        " `/disks/*`: what `load()` is given",
    ),
    Option("paths", "several such places, as a JSON list; `load([…])` sets it", ours=True),
    Option(
        "assign",
        'partitions: `{"topicA":[0,1]}`; one of assign, subscribe and subscribePattern; without any, all'
        " topics but Kafka's internal ones",
    ),
    Option("subscribe", "topics, separated by commas"),
    Option(
        "subscribePattern",
        "a Java regular expression that is searched for in topics' names; see below for what is not supported",
    ),
    Option("startingTimestamp", "milliseconds: the first record from then on, in every partition"),
    Option(
        "startingOffsetsByTimestamp",
        'the same for each partition: `{"topicA":{"0":1000}}`; all partitions must be named',
    ),
    Option(
        "startingOffsets",
        'earliest, latest, or `{"topicA":{"0":23,"1":-2}}` with -2 earliest and -1 latest; a batch cannot start at'
        " latest; a stream uses it only when it first starts",
        default="latest; batch: earliest",
    ),
    Option(
        "startingOffsetsByTimestampStrategy", "what to do if no record is that late: error, or latest", default="error"
    ),
    Option("endingTimestamp", "milliseconds: end before the first record of that time or later", scope="batch"),
    Option("endingOffsetsByTimestamp", "the same for each partition", scope="batch"),
    Option(
        "endingOffsets",
        "latest, offsets, or highWatermark (not in Spark's source; for streams too): the end of what the broker's "
        "checkpoint says is committed",
        default="latest",
        scope="batch",
    ),
    Option(
        "failOnDataLoss",
        "fail if records were deleted before they were read; false: continue after them, with a warning. Gaps that"
        " compaction or transactions leave are not a loss",
        default="true",
    ),
    Option(
        "onDamage",
        "fail, or skip: damaged batches and files that cannot be read are left out, each with a warning",
        default="fail",
        ours=True,
    ),
    Option(
        "maxOffsetsPerTrigger",
        "at most this many offsets in a micro-batch, divided among partitions by their backlogs; each that has one gets"
        " at least one offset",
        scope="stream",
    ),
    Option(
        "maxBytesPerTrigger",
        "at most about this many bytes of log in a micro-batch, divided in the same way; at least one batch for each",
        scope="stream",
        ours=True,
    ),
    Option("minOffsetsPerTrigger", "wait for this many offsets before a micro-batch", scope="stream"),
    Option("maxTriggerDelay", "the longest that minOffsetsPerTrigger waits", default="15m", scope="stream"),
    Option(
        "commitGroup",
        "a group whose committed offsets follow the stream, so that lag tools see how far it has read; see above",
        scope="stream",
        ours=True,
    ),
    Option(
        "commitServers",
        "the broker that commitGroup sends the offsets to, as host:port, or several separated by commas; without it"
        " they are written to the directory, so no broker may hold it",
        scope="stream",
        ours=True,
    ),
    Option(
        "lockTimeout",
        "how long commitGroup waits for a directory that another process holds, or for the broker of commitServers",
        default="60s",
        scope="stream",
        ours=True,
    ),
    Option("minPartitions", "split the largest offset ranges until there are about this many Spark tasks"),
    Option("maxRecordsPerPartition", "split offset ranges that have more offsets than this"),
    Option(
        "partitionBytes",
        "about how many bytes of log a Spark task reads at most",
        default=str(PARTITION_BYTES),
        ours=True,
    ),
    Option(
        "maxUnpackedBytes",
        "how many bytes a compressed batch may unpack to; a larger one counts as damaged",
        default=str(DEFAULT_LIMIT),
        ours=True,
    ),
    Option("includeHeaders", "add the column `headers`", default="false"),
    Option("columns", "some of the columns, separated by commas; the others are not built", default="all", ours=True),
    Option("isolationLevel", "read_uncommitted or read_committed", default="read_uncommitted", ours=True),
    Option("kafka.isolation.level", "the same as isolationLevel, which takes precedence", default="read_uncommitted"),
    Option(
        "kafka.*",
        "other configs of a Kafka consumer, even bootstrap.servers, are ignored: there is no broker. As in Spark's"
        " source, auto.offset.reset, key.deserializer, value.deserializer, enable.auto.commit and interceptor.classes"
        " are refused",
    ),
    Option("groupIdPrefix", "ignored: the source joins no consumer group"),
    Option("kafkaConsumer.pollTimeoutMs", "without effect: nothing is polled"),
    Option("fetchOffset.numRetries", "without effect: listings are retried automatically"),
    Option("fetchOffset.retryIntervalMs", "without effect"),
    Option("partition.metadata.cache.ttl.ms", "ignored: every micro-batch lists the partitions again"),
)

_KNOWN = {option.name.lower(): option for option in SOURCE_OPTIONS}
# Options that Spark itself adds, or that a user gives for another part of the query.
_SPARKS = frozenset({"checkpointlocation", "inferschema", "mergeschema", "header", "timezone"})
# What users of `octavo.scan` and of the sink may type, and the source's option for it.
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
    """Raise ConfigError for an option that the source does not have; in a call it cannot be meant for anything else."""
    for name in options:
        if not is_among(name, SOURCE_OPTIONS):
            raise ConfigError(
                f"{function} has no option {name!r}{hint_for(name)}; its options are those of format('octavo')"
            )


def warn_of(options: Mapping[str, str], scope: _Scope) -> None:
    """Warn about unknown options, which Spark silently ignores, and about those of the other scope."""
    for name in sorted(options):
        known = _KNOWN.get(name.lower())
        if known is not None and known.scope not in ("both", scope):
            _log.warning("%s option ignored in %s queries", known.name, "batch" if scope == "batch" else "streaming")
        elif known is None and not name.lower().startswith("kafka.") and name.lower() not in _SPARKS:
            _log.warning("unknown option %s is ignored%s", name, hint_for(name))
