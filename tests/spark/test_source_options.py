"""Options of the source: the forms, defaults, precedence and errors of Spark's Kafka source, and our own."""

from __future__ import annotations

import json
import logging
import pickle
import re
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

from pyspark.sql.datasource import CaseInsensitiveDict

from octavo.errors import ConfigError
from octavo.format.names import TopicPartition
from octavo.spark.query.limits import (
    AtOffsets,
    AtTimestamp,
    AtTimestamps,
    Limit,
    NamedLimit,
    batch_limits,
    stream_reads_to_high_watermark,
    stream_start,
)
from octavo.spark.query.options import SOURCE_OPTIONS, warn_of
from octavo.spark.query.schema import check_schema, schema_of
from octavo.spark.query.source_options import SourceOptions
from octavo.spark.query.stream_options import StreamOptions
from octavo.spark.query.values import duration_ms, from_nested, offsets, to_nested

LEAST = {"path": "/logs", "subscribe": "orders"}
ZERO, ONE = TopicPartition("orders", 0), TopicPartition("orders", 1)


def test_the_defaults_are_those_of_the_table() -> None:
    options = SourceOptions.of(LEAST)
    table = {option.name: option.default for option in SOURCE_OPTIONS}
    assert options.isolation_level == table["isolationLevel"] == table["kafka.isolation.level"]
    assert options.fail_on_data_loss is json.loads(table["failOnDataLoss"])
    assert options.on_no_match == table["startingOffsetsByTimestampStrategy"]
    assert options.splitting.partition_bytes == int(table["partitionBytes"])
    admission = StreamOptions.of(LEAST).admission
    assert admission.max_trigger_delay_ms == duration_ms("", table["maxTriggerDelay"])
    assert ("headers" in options.columns) is json.loads(table["includeHeaders"])
    assert batch_limits(LEAST) == (NamedLimit.EARLIEST, NamedLimit.LATEST)
    assert stream_start(LEAST) is NamedLimit.LATEST
    assert not admission.is_limited
    assert pickle.loads(pickle.dumps(options)) == options


def test_names_are_compared_without_case() -> None:
    given = {
        "PATH": "/a",
        "SubscribePattern": "ord.*",
        "MAXOFFSETSPERTRIGGER": "7",
        "kafka.ISOLATION.level": "read_committed",
    }
    options = SourceOptions.of(given)
    assert options.paths == ("/a",)
    assert StreamOptions.of(CaseInsensitiveDict(given)).admission.max_offsets == 7
    assert options.isolation_level == "read_committed"
    assert options.subscription.wants(TopicPartition("my-orders", 0)), "a pattern may match just a part of a name"


def test_paths_become_absolute_and_come_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    options = SourceOptions.of({"path": "logs", "paths": '["/b", "logs", "s3://bucket/logs"]', "subscribe": "orders"})
    assert options.paths == (str(tmp_path / "logs"), "/b", "s3://bucket/logs")


def test_a_path_may_be_spelt_as_spark_spells_it() -> None:
    options = SourceOptions.of({"paths": '["file:/a", "file:///a/", "hdfs:/b"]', "subscribe": "orders"})
    assert options.paths == ("/a", "hdfs:/b")


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({"startingOffsets": " Earliest "}, NamedLimit.EARLIEST),
        ({"startingOffsets": '{"orders":{"0":23,"1":-2}}'}, AtOffsets({ZERO: 23, ONE: -2})),
        ({"startingTimestamp": "100", "startingOffsets": "latest"}, AtTimestamp(100)),
        ({"startingOffsetsByTimestamp": '{"orders":{"0":5}}', "startingOffsets": "latest"}, AtTimestamps({ZERO: 5})),
        ({"startingTimestamp": "7", "startingOffsetsByTimestamp": '{"orders":{"0":5}}'}, AtTimestamp(7)),
    ],
)
def test_one_of_several_starting_options_takes_precedence(given: dict[str, str], limit: Limit) -> None:
    assert stream_start(given) == limit


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"assign": '{"orders":[0]}'}, "Only one of the following options can be specified"),
        ({"subscribe": " , "}, "No topics to subscribe to as specified value for option 'subscribe' is ' , '"),
        ({"subscribe": None, "subscribePattern": " "}, "Pattern to subscribe is empty"),
        ({"subscribe": None, "subscribePattern": "("}, "is not a regular expression"),
        ({"subscribe": None, "assign": "orders"}, "No topicpartitions to assign"),
        (
            {"subscribe": None, "assign": '{"orders":0}'},
            'assign: Expected e.g. {"topicA":[0,1],"topicB":[0,1]}, got {"orders":0}',
        ),
        ({"path": None}, "no log directory"),
        ({"paths": "/a"}, "paths: expected a JSON list"),
        ({"failOnDataLoss": "maybe"}, 'failOnDataLoss: For input string: "maybe"'),
        ({"includeHeaders": "1"}, 'includeHeaders: For input string: "1"'),
        ({"minPartitions": "0"}, "minPartitions must be positive"),
        ({"minPartitions": "two"}, 'minPartitions: For input string: "two"'),
        ({"maxRecordsPerPartition": "-1"}, "maxRecordsPerPartition must be positive"),
        ({"minPartitions": " 2"}, 'minPartitions: For input string: " 2"'),
        ({"minPartitions": "999999999"}, "minPartitions is 999999999, expected at most 1000000"),
        ({"maxUnpackedBytes": "0"}, "maxUnpackedBytes must be positive"),
        ({"minPartitions": "2147483648"}, 'minPartitions: For input string: "2147483648"'),
        ({"kafkaConsumer.pollTimeoutMs": "x"}, 'kafkaConsumer.pollTimeoutMs: For input string: "x"'),
        ({"fetchOffset.numRetries": "2147483648"}, "fetchOffset.numRetries: For input string"),
        ({"fetchOffset.retryIntervalMs": ""}, "fetchOffset.retryIntervalMs: For input string"),
        ({"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"}, "minOffsetPerTrigger(9) is higher than the max"),
        ({"startingOffsetsByTimestampStrategy": "first"}, "No value found for 'FIRST'"),
        ({"isolationLevel": "dirty"}, "String must be one of: read_committed, read_uncommitted"),
        ({"columns": "value,offsets"}, "columns: 'offsets', expected some of key, value, topic"),
        ({"columns": ","}, "columns is empty"),
        ({"kafka.auto.offset.reset": "earliest"}, "Kafka option 'auto.offset.reset' is not supported"),
        ({"kafka.key.deserializer": "x"}, "Kafka option 'key.deserializer' is not supported"),
        ({"kafka.value.deserializer": "x"}, "Kafka option 'value.deserializer' is not supported"),
        ({"kafka.enable.auto.commit": "true"}, "Kafka option 'enable.auto.commit' is not supported"),
        ({"kafka.interceptor.classes": "x"}, "Kafka option 'interceptor.classes' is not supported"),
    ],
)
def test_a_wrong_option_is_refused(given: dict[str, str | None], message: str) -> None:
    options = {name: text for name, text in {**LEAST, **given}.items() if text is not None}
    with pytest.raises(ConfigError, match=re.escape(message)):
        SourceOptions.of(options)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"maxOffsetsPerTrigger": "1.5"}, 'maxOffsetsPerTrigger: For input string: "1.5"'),
        ({"minOffsetsPerTrigger": "many"}, 'minOffsetsPerTrigger: For input string: "many"'),
        ({"maxBytesPerTrigger": "0"}, "maxBytesPerTrigger must be positive"),
        ({"maxTriggerDelay": "soon"}, "Failed to parse time string: soon"),
    ],
)
def test_what_only_a_stream_has_is_checked_by_a_stream(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        StreamOptions.of(given)
    SourceOptions.of({**LEAST, **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"startingOffsets": "latest"}, "starting offset can't be latest for batch queries"),
        ({"startingOffsets": '{"orders":{"0":-1}}'}, "startingOffsets for orders-0 can't be latest"),
        ({"endingOffsets": "earliest"}, "ending offset can't be earliest for batch queries"),
        ({"endingOffsets": '{"orders":{"0":-2}}'}, "ending offset for orders-0 can't be earliest"),
        ({"startingOffsets": "ealiest"}, "startingOffsets: Expected e.g. "),
        ({"startingOffsets": "ealiest"}, ", got ealiest (did you mean earliest?)"),
        ({"endingOffsets": "end"}, 'endingOffsets: Expected e.g. {"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}, got'),
        ({"startingTimestamp": "now"}, "Expected a single long value, got now"),
        ({"startingOffsetsByTimestamp": "[]"}, 'startingOffsetsByTimestamp: Expected e.g. {"topicA": {"0": 123456789'),
        (
            {"startingOffsets": '{"orders":{"0":1}}', "endingOffsets": '{"orders":{"1":1}}'},
            "The specified start offset and end offset should have the same topic-partitions",
        ),
        (
            {"startingOffsets": '{"orders":{"0":2}}', "endingOffsets": '{"orders":{"0":1}}'},
            "The specified start offset 2 is greater than the end offset 1 for topic orders partition 0",
        ),
        (
            {"startingOffsetsByTimestamp": '{"orders":{"0":2}}', "endingOffsetsByTimestamp": '{"orders":{"0":1}}'},
            "The specified start timestamp 2 is greater than the end timestamp 1",
        ),
    ],
)
def test_limits_that_a_batch_cannot_have_are_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        batch_limits(given)


def test_a_stream_has_no_end_but_the_high_watermark() -> None:
    assert not stream_reads_to_high_watermark({})
    assert stream_reads_to_high_watermark({"endingOffsets": "highwatermark"})
    with pytest.raises(ConfigError, match="ending offset not valid in streaming queries"):
        stream_reads_to_high_watermark({"endingOffsets": "latest"})
    with pytest.raises(ConfigError, match="ending timestamp not valid in streaming queries"):
        stream_reads_to_high_watermark({"endingOffsetsByTimestamp": "{}"})


def test_options_without_effect_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    given = {
        **LEAST,
        "maxOffsetsPerTrigger": "1",
        "startingOfsets": "earliest",
        "kafka.bootstrap.servers": "b:9092",
        "topics": "t",
    }
    with caplog.at_level(logging.WARNING, "octavo.spark"):
        warn_of(given, "batch")
    assert [record.getMessage() for record in caplog.records] == [
        "maxOffsetsPerTrigger option ignored in batch queries",
        "unknown option startingOfsets is ignored (did you mean startingOffsets?)",
        "unknown option topics is ignored (did you mean subscribe?)",
    ]


def test_durations_are_sparks() -> None:
    texts = "15m", "30s", "500ms", "250", "2h", "1d", "3min", "250us", "7000us"
    found = [duration_ms("x", text) for text in texts]
    assert found == [900_000, 30_000, 500, 250, 7_200_000, 86_400_000, 180_000, 0, 7]


def test_offsets_in_json_are_in_order_and_come_back() -> None:
    flat = {TopicPartition("b", 10): 5, TopicPartition("b", 9): 4, TopicPartition("a", 0): 3}
    nested = to_nested(flat)
    assert json.dumps(nested) == '{"a": {"0": 3}, "b": {"9": 4, "10": 5}}'
    assert from_nested(nested) == flat == offsets("startingOffsets", json.dumps(nested))


def test_the_schema_is_that_of_sparks_kafka_source() -> None:
    options = SourceOptions.of({**LEAST, "includeHeaders": "true"})
    assert options.schema().simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,"
        "timestampType:int,headers:array<struct<key:string,value:binary>>>"
    )
    assert SourceOptions.of({**LEAST, "columns": "offset, VALUE"}).columns == ("offset", "value")
    check_schema(schema_of(options.columns), options.columns)
    with pytest.raises(ConfigError, match="fixed schema"):
        check_schema(schema_of(("value",)), options.columns)


def test_every_option_of_the_table_has_its_own_name_and_a_scope() -> None:
    assert len({option.name.lower() for option in SOURCE_OPTIONS}) == len(SOURCE_OPTIONS)
    assert {option.scope for option in SOURCE_OPTIONS} == {"batch", "stream", "both"}
