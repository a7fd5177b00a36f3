"""Each option of the source with good and bad values: what is compared with Spark's own Kafka source."""

from __future__ import annotations

from typing import NamedTuple

# The timestamp of the first record of each partition, and in txn of each transaction; the others follow a second apart.
T0 = 1_700_000_000_000


# Stands for the broker's address in the cases and in what is recorded.
BROKER = "broker:9092"
BOTH_MODES = ("batch", "stream")
STRATEGIES = {"subscribe", "subscribePattern", "assign"}


class Case(NamedTuple):
    """One query: an option, its value as shown on the page (or a description of it, in parentheses), and the options
    in addition to those of every query."""

    option: str
    value: str
    options: dict[str, str]
    modes: tuple[str, ...] = BOTH_MODES
    without: str | None = None  # an option of every query that this one lacks

    def given(self, mode: str) -> dict[str, str]:
        """All its options; a stream starts at the earliest offset unless the case is about its start."""
        given = {"kafka.bootstrap.servers": BROKER}
        if not STRATEGIES & self.options.keys():
            given["subscribe"] = "orders"
        if mode == "stream" and not any(name.lower().startswith("starting") for name in self.options):
            given["startingOffsets"] = "earliest"
        given |= self.options
        return {name: value for name, value in given.items() if name != self.without}

    @property
    def counts_tasks(self) -> bool:
        """Whether it is about the number of Spark tasks."""
        return bool({"minPartitions", "maxRecordsPerPartition"} & self.options.keys())


def _values(option: str, *values: str, modes: tuple[str, ...] = BOTH_MODES, **beside: str) -> list[Case]:
    also = "".join(f", {name}={value}" for name, value in beside.items())
    return [Case(option, value + also, {option: value, **beside}, modes) for value in values]


_BOTH = '{"orders":{"0":%d,"1":%d}}'
_START, _STRATEGY = "startingOffsets", "startingOffsetsByTimestampStrategy"
_OTHER_PARTITIONS = '{"orders":{"0":4}}'

CASES = [
    Case("(no topics)", "", {}, without="subscribe"),
    Case("(two strategies)", "", {"subscribe": "orders", "subscribePattern": "o.*"}),
    *_values("subscribe", "orders", "orders,orders.v2", " orders , trimmed ", "absent", " , "),
    *_values("subscribePattern", "ord.*", "v2", "nothing", " ", "("),
    *_values("subscribePattern", "^\\p{Lower}+$", "^(?<first>o)rders\\z", "\\Qs.v\\E", "^[a-z&&[^x]]+$"),
    *_values("assign", '{"orders":[1]}', '{"orders":[0,7]}', '{"absent":[0]}', "orders", '{"orders":"0"}'),
    *_values(_START, "earliest", "latest", "EARLIEST", _BOTH % (3, -2), _BOTH % (-1, 2), '{"orders":{"0":3}}', "soon"),
    *_values(_START, _BOTH % (3, 99)),
    *_values(_START, _BOTH % (3, 99), failOnDataLoss="false"),
    *_values(_START, '{"trimmed":{"0":2}}', subscribe="trimmed"),
    *_values(_START, '{"trimmed":{"0":2}}', subscribe="trimmed", failOnDataLoss="false"),
    *_values("startingTimestamp", str(T0 + 2500), str(T0 - 1), str(T0 + 7500), "yesterday"),
    *_values("startingTimestamp", str(T0 + 7500), startingOffsetsByTimestampStrategy="latest"),
    *_values(_STRATEGY, "ERROR", "first", startingTimestamp=str(T0 + 1)),
    *_values("startingOffsetsByTimestamp", _BOTH % (T0 + 3000, T0 + 1000), '{"orders":{"0":1}}', "[]", "earliest"),
    Case(
        "startingTimestamp",
        "(with startingOffsets and startingOffsetsByTimestamp)",
        {"startingTimestamp": str(T0 + 2500), _START: "earliest", "startingOffsetsByTimestamp": _BOTH % (0, 0)},
    ),
    *_values("endingTimestamp", str(T0 + 2500), str(T0 + 99_999), "never"),
    *_values("endingOffsetsByTimestamp", _BOTH % (T0 + 3000, T0 + 1000), "{"),
    *_values("endingOffsets", "latest", "earliest", _BOTH % (4, -1), _BOTH % (4, -2), _OTHER_PARTITIONS, "never"),
    Case(
        "endingOffsets",
        "(before startingOffsets)",
        {_START: _BOTH % (5, 0), "endingOffsets": _BOTH % (4, 2)},
        ("batch",),
    ),
    Case(
        "endingOffsets", "(other partitions)", {_START: _BOTH % (1, 0), "endingOffsets": _OTHER_PARTITIONS}, ("batch",)
    ),
    Case(
        "endingTimestamp", "(before startingOffsets)", {_START: _BOTH % (5, 0), "endingTimestamp": str(T0)}, ("batch",)
    ),
    *_values("failOnDataLoss", "false", "TRUE", "perhaps"),
    *_values("maxOffsetsPerTrigger", "4", "1", "many"),
    *_values("minOffsetsPerTrigger", "4", "many"),
    *_values("minOffsetsPerTrigger", "5", "many", maxOffsetsPerTrigger="4"),
    *_values("maxTriggerDelay", "5s", "250us", "shortly", minOffsetsPerTrigger="4"),
    *_values("minPartitions", "1", "4", "7", "0", "-1", "few", " 4", "3000000000"),
    *_values("maxRecordsPerPartition", "2", "4", "0", "few"),
    *_values("maxRecordsPerPartition", "4", minPartitions="6"),
    *_values("includeHeaders", "true", "perhaps"),
    *_values("kafka.isolation.level", "read_committed", "read_uncommitted", "READ_COMMITTED", subscribe="txn"),
    *_values("kafka.isolation.level", "dirty"),
    *_values("kafka.bootstrap.servers", BROKER, "nowhere"),
    Case("kafka.bootstrap.servers", "(not given)", {}, without="kafka.bootstrap.servers"),
    *_values("kafka.group.id", "mine", ""),
    *_values("groupIdPrefix", "mine", ""),
    *_values("kafka.session.timeout.ms", "10000", "soon"),
    *_values("kafka.unknown", "1"),
    *_values("kafka.auto.offset.reset", "earliest"),
    *_values("kafka.key.deserializer", "x"),
    *_values("kafka.value.deserializer", "x"),
    *_values("kafka.enable.auto.commit", "true"),
    *_values("kafka.interceptor.classes", "x"),
    *_values("kafkaConsumer.pollTimeoutMs", "3000", "x"),
    *_values("fetchOffset.numRetries", "5", "x"),
    *_values("fetchOffset.retryIntervalMs", "10", "x"),
    *_values("partition.metadata.cache.ttl.ms", "1000", "x"),
    *_values("unknownOption", "1"),
]

_NO_BROKER = "there is no broker: an address is neither needed nor checked"
_NO_CONSUMER = "there is no consumer: its configs are not checked"
_TOGETHER = "small ranges share a task unless more tasks are requested"
_UNRESOLVED = "Spark's source has not resolved earliest and latest yet, so it does not split the range"
_ALL_TOPICS = "a directory's topics belong together, so all of them are read"
_INTERSECTION = "Python's expressions have no intersections"

# Where ours intentionally answers differently, and why.
DIFFERENCES = {
    **{("(no topics)", "", mode): _ALL_TOPICS for mode in BOTH_MODES},
    **{("subscribePattern", "^[a-z&&[^x]]+$", mode): _INTERSECTION for mode in BOTH_MODES},
    **{("minPartitions", "1", mode): _TOGETHER for mode in BOTH_MODES},
    **{("maxRecordsPerPartition", most, "batch"): _UNRESOLVED for most in ("2", "4")},
    **{
        ("kafka.bootstrap.servers", value, mode): _NO_BROKER
        for value in ("nowhere", "(not given)")
        for mode in BOTH_MODES
    },
    **{("kafka.session.timeout.ms", "soon", mode): _NO_CONSUMER for mode in BOTH_MODES},
}
