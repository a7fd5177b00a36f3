"""Each option of the source with good and bad values: what is compared with Spark's own Kafka source."""

from __future__ import annotations

from typing import NamedTuple

T0 = 1_700_000_000_000  # the timestamp of the first record of every topic; each next one is a second later


class Case(NamedTuple):
    """One query: an option, its value as the page shows it, and the options given beside what every query has."""

    option: str
    value: str
    options: dict[str, str]
    modes: tuple[str, ...] = ("batch", "stream")

    def given(self, mode: str) -> dict[str, str]:
        """All its options; a stream starts at the earliest offset unless the case is about where it starts."""
        started = any(name.lower().startswith("starting") for name in self.options)
        start = {"startingOffsets": "earliest"} if mode == "stream" and not started else {}
        strategy = (
            {} if {"subscribe", "subscribePattern", "assign", "none"} & self.options.keys() else {"subscribe": "orders"}
        )
        given = {**strategy, **start, **self.options}
        given.pop("none", None)
        return given


def _values(option: str, *values: str, modes: tuple[str, ...] = ("batch", "stream"), **beside: str) -> list[Case]:
    return [Case(option, value, {option: value, **beside}, modes) for value in values]


_BOTH = '{"orders":{"0":%d,"1":%d}}'
_START, _STRATEGY = "startingOffsets", "startingOffsetsByTimestampStrategy"

CASES = [
    Case("(no topics)", "", {"none": ""}),
    Case("(two strategies)", "", {"subscribe": "orders", "subscribePattern": "o.*"}),
    *_values("subscribe", "orders", "orders,orders.v2", " orders , trimmed ", "absent", " , "),
    *_values("subscribePattern", "ord.*", "v2", "nothing", " "),
    *_values("assign", '{"orders":[1]}', '{"orders":[0,7]}', '{"absent":[0]}', "orders", '{"orders":"0"}'),
    *_values(_START, "earliest", "latest", "EARLIEST", _BOTH % (3, -2), _BOTH % (-1, 2), '{"orders":{"0":3}}', "soon"),
    *_values(_START, _BOTH % (3, 99), failOnDataLoss="false", modes=("stream",)),
    *_values(_START, _BOTH % (3, 99)),
    Case(_START, '{"trimmed":{"0":2}}', {"subscribe": "trimmed", _START: '{"trimmed":{"0":2}}'}),
    Case(
        _START,
        '{"trimmed":{"0":2}}, failOnDataLoss=false',
        {"subscribe": "trimmed", _START: '{"trimmed":{"0":2}}', "failOnDataLoss": "false"},
    ),
    *_values("startingTimestamp", str(T0 + 2500), str(T0 - 1), str(T0 + 7500), "yesterday"),
    Case(
        "startingTimestamp",
        f"{T0 + 7500}, {_STRATEGY}=latest",
        {"startingTimestamp": str(T0 + 7500), _STRATEGY: "latest"},
    ),
    *_values(_STRATEGY, "ERROR", "first", startingTimestamp=str(T0 + 1)),
    *_values("startingOffsetsByTimestamp", _BOTH % (T0 + 3000, T0 + 1000), '{"orders":{"0":1}}', "[]", "earliest"),
    Case(
        "startingTimestamp",
        "before startingOffsets",
        {"startingTimestamp": str(T0 + 2500), _START: "earliest", "startingOffsetsByTimestamp": _BOTH % (0, 0)},
    ),
    *_values("endingTimestamp", str(T0 + 2500), str(T0 + 99_999), "never", modes=("batch",)),
    *_values("endingOffsetsByTimestamp", _BOTH % (T0 + 3000, T0 + 1000), "{", modes=("batch",)),
    *_values("endingOffsetsByTimestamp", _BOTH % (T0 + 3000, T0 + 1000), modes=("stream",)),
    *_values(
        "endingOffsets", "latest", "earliest", _BOTH % (4, -1), _BOTH % (4, -2), '{"orders":{"0":4}}', modes=("batch",)
    ),
    *_values("endingOffsets", "latest", modes=("stream",)),
    Case(
        "endingOffsets", "before startingOffsets", {_START: _BOTH % (5, 0), "endingOffsets": _BOTH % (4, 2)}, ("batch",)
    ),
    Case(
        "endingOffsets", "other partitions", {_START: _BOTH % (1, 0), "endingOffsets": '{"orders":{"0":4}}'}, ("batch",)
    ),
    Case("endingTimestamp", "before startingOffsets", {_START: _BOTH % (5, 0), "endingTimestamp": str(T0)}, ("batch",)),
    *_values("failOnDataLoss", "false", "TRUE", "perhaps"),
    *_values("maxOffsetsPerTrigger", "4", "1", "many"),
    *_values("minOffsetsPerTrigger", "4", "many"),
    Case(
        "minOffsetsPerTrigger", "5, maxOffsetsPerTrigger=4", {"minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"}
    ),
    *_values("maxTriggerDelay", "5s", "shortly", minOffsetsPerTrigger="4", modes=("stream",)),
    *_values("minPartitions", "4", "0", "-1", "few"),
    *_values("maxRecordsPerPartition", "2", "0", "few"),
    *_values("includeHeaders", "true", "perhaps"),
    Case("kafka.isolation.level", "read_committed", {"subscribe": "txn", "kafka.isolation.level": "read_committed"}),
    Case(
        "kafka.isolation.level", "read_uncommitted", {"subscribe": "txn", "kafka.isolation.level": "read_uncommitted"}
    ),
    *_values("kafka.isolation.level", "dirty"),
    *_values("kafka.group.id", "mine"),
    *_values("groupIdPrefix", "mine"),
    *_values("kafka.auto.offset.reset", "earliest"),
    *_values("kafka.key.deserializer", "x"),
    *_values("kafka.value.deserializer", "x"),
    *_values("kafka.enable.auto.commit", "true"),
    *_values("kafka.interceptor.classes", "x"),
    *_values("kafka.session.timeout.ms", "10000"),
    *_values("unknownOption", "1"),
]

# Where ours answers otherwise on purpose, and why.
DIFFERENCES = {
    ("minOffsetsPerTrigger", "many", "batch"): "a wrong number is refused wherever it stands",
    ("maxOffsetsPerTrigger", "many", "batch"): "a wrong number is refused wherever it stands",
}
