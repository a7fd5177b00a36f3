"""The sink's writers without a session: columns, options, partitions, attempts, and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import octavo
from octavo import kernels
from octavo.errors import ConfigError, EncodingError, InvalidTopicError, OctavoError, UnknownTopicOrPartitionError
from octavo.format.compression import Codec
from octavo.storage.log_manager import LogManager

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")


from octavo.spark.sink.sink import batch_writer, stream_writer
from octavo.spark.sink.task import Staged
from tests.spark.sink_rows import SCHEMA, rows, schema, write
from tests.spark.sink_runs import staged


def checkpoint(folder: Path, query_id: str = "query-1") -> str:
    folder.mkdir(exist_ok=True)
    (folder / "metadata").write_text(json.dumps({"id": query_id}))
    return str(folder)


def records(root: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = octavo.scan(root).to_table().to_pylist()
    return found


def codecs(log_dir: LogManager) -> list[str]:
    """The codec of each batch of t-0, which has one segment."""
    chunks = log_dir.log("t", 0).segments.active.files.log.chunks()
    return [Codec(int(attributes) & 7).name.lower() for chunk in chunks for attributes in chunk.table["attributes"]]


def partition_for_key(key: bytes, partitions: int) -> int:
    return (kernels.murmur2(key) & 0x7FFFFFFF) % partitions


def test_rows_with_keys_go_where_kafka_would_send_them(tmp_path: Path) -> None:
    keys = [b"k%d" % number for number in range(500)] + [b""]
    write(tmp_path / "logs", SCHEMA, rows(key=keys, value=keys), topic="t", partitions="7")
    found = records(tmp_path / "logs")
    assert sorted(record["key"] for record in found) == sorted(keys)
    assert all(record["partition"] == partition_for_key(record["key"], 7) for record in found)
    assert staged(tmp_path / "logs") == []


def test_rows_without_a_key_stick_to_a_partition_for_a_batch(tmp_path: Path) -> None:
    values = [b"%04d" % number + bytes(96) for number in range(3000)]
    batches = [rows(value=values[start : start + 500]) for start in range(0, 3000, 500)]
    write(tmp_path / "logs", "value binary", *batches, topic="t", partitions="3")
    found = records(tmp_path / "logs")
    assert sorted(record["value"] for record in found) == values
    by_partition = [[r["value"] for r in found if r["partition"] == partition] for partition in range(3)]
    assert sum(map(bool, by_partition)) > 1
    for some in by_partition:
        assert some == sorted(some)
    where = {record["value"]: record["partition"] for record in found}
    switches = sum(where[a] != where[b] for a, b in pairwise(values))
    assert switches < 40  # 300,000 bytes are some 20 batches


def test_the_partition_column_decides_and_null_means_any(tmp_path: Path) -> None:
    batch = rows(key=[b"a", b"a", None], value=[b"1", b"2", b"3"], partition=[3, None, 0])
    write(tmp_path / "logs", "key binary, value binary, partition int", batch, topic="t", partitions="4")
    found = {record["value"]: record["partition"] for record in records(tmp_path / "logs")}
    assert found == {b"1": 3, b"2": partition_for_key(b"a", 4), b"3": 0}
    with pytest.raises(UnknownTopicOrPartitionError, match="there is no partition 4 of topic 't'; it has 0 to 3"):
        batch = rows(value=[b"1"], partition=[4])
        write(tmp_path / "logs", "value binary, partition int", batch, topic="t")
    assert staged(tmp_path / "logs") == []


def test_headers_times_and_strings_are_written_and_other_columns_ignored(tmp_path: Path) -> None:
    batch = pa.record_batch(
        {
            "value": pa.array(["ä", None, "c"]),
            "extra": pa.array([1, 2, 3]),
            "headers": rows(headers=[[{"key": "h", "value": b"1"}, {"key": "h", "value": None}], None, []]).column(0),
            "timestamp": pa.array([1_700_000_000_123_456, None, 5_000], pa.timestamp("us", "UTC")),
        }
    )
    text = "value string, extra long, headers headers, timestamp timestamp"
    write(tmp_path / "logs", text, batch, topic="t", includeHeaders="true")
    first, second, third = records(tmp_path / "logs")
    assert [first["value"], second["value"], third["value"]] == ["ä".encode(), None, b"c"]
    assert first["headers"] == [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]
    assert second["headers"] == third["headers"] == []
    assert first["timestamp"].timestamp() == 1_700_000_000.123
    assert second["timestamp"].timestamp() > 1_700_000_000
    assert third["timestamp"].timestamp() == 0.005
    with pytest.raises(EncodingError, match="Invalid timestamp: -1"):
        write(tmp_path / "logs", "value binary, timestamp timestamp", rows(value=[b""], timestamp=[-1000]), topic="t")


def test_the_topic_column_makes_topics_and_the_option_overrules_it(tmp_path: Path) -> None:
    batch = rows(topic=["a", "b", "a"], value=[b"1", b"2", b"3"])
    text = "topic string, value binary"
    write(tmp_path / "logs", text, batch, **{"topicConfig.cleanup.policy": "delete", "topicConfig.segment.ms": "7000"})
    assert [(r["topic"], r["value"]) for r in records(tmp_path / "logs")] == [("a", b"1"), ("a", b"3"), ("b", b"2")]
    with LogManager(tmp_path / "logs") as log_dir:
        assert log_dir.config("a").segment_ms == 7000
    write(tmp_path / "logs", text, batch, topic="c")
    assert [r["value"] for r in records(tmp_path / "logs") if r["topic"] == "c"] == [b"1", b"2", b"3"]
    with pytest.raises(EncodingError, match="contains a null topic"):
        write(tmp_path / "logs", text, rows(topic=[None], value=[b"1"]))
    with pytest.raises(UnknownTopicOrPartitionError, match="there is no topic 'z' in"):
        write(tmp_path / "logs", text, rows(topic=["z"], value=[b"1"]), autoCreateTopics="false")


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd", "none"])
def test_codec_and_batch_size_are_the_producers_unless_the_topic_has_a_codec(tmp_path: Path, codec: str) -> None:
    values = [b"%05d" % number + bytes(100) for number in range(1000)]
    options = {"kafka.compression.type": codec, "kafka.batch.size": "2048", "topic": "t"}
    write(tmp_path / "logs", "value binary", rows(value=values), **options)
    assert [record["value"] for record in records(tmp_path / "logs")] == values
    with LogManager(tmp_path / "logs") as log_dir:
        before = codecs(log_dir)
        log_dir.alter_configs("t", {"compression.type": "lz4"})
    assert set(before) == {codec}
    assert 50 < len(before) < 100
    write(tmp_path / "logs", "value binary", rows(value=values), **options)
    assert [record["value"] for record in records(tmp_path / "logs")] == values * 2
    with LogManager(tmp_path / "logs") as log_dir:
        after = codecs(log_dir)
    assert after[: len(before)] == before
    assert set(after[len(before) :]) == {"lz4"}


def test_only_attempts_that_are_committed_count_and_others_are_swept(tmp_path: Path) -> None:
    options = {"path": str(tmp_path / "logs"), "topic": "t", "checkpointLocation": checkpoint(tmp_path / "ck")}
    writer = stream_writer(options, schema(SCHEMA), False)
    batch = rows(key=[b"k"], value=[b"v"])
    first, _second, third = (writer.write(iter([batch])) for _ in range(3))
    writer.commit([first, third], 0)
    writer.commit([writer.write(iter([batch]))], 0)  # a repeated batch
    assert [record["value"] for record in records(tmp_path / "logs")] == [b"v", b"v"]
    assert staged(tmp_path / "logs") == []


def test_a_failed_attempt_and_an_aborted_batch_leave_nothing(tmp_path: Path) -> None:
    options = {"path": str(tmp_path / "logs"), "topic": "t", "checkpointLocation": checkpoint(tmp_path / "ck")}
    writer = stream_writer(options, schema(SCHEMA), False)
    batch = rows(key=[b"k"], value=[bytes(2_000_000)])

    def failing() -> Any:
        yield batch
        raise RuntimeError("the task dies")

    with pytest.raises(RuntimeError, match="the task dies"):
        writer.write(failing())
    assert staged(tmp_path / "logs") == []
    message = writer.write(iter([rows(key=[b"k"], value=[b"v"])]))
    assert len(staged(tmp_path / "logs")) == 1
    writer.abort([message, None], 0)
    assert staged(tmp_path / "logs") == []


def test_a_query_has_the_name_of_its_checkpoint_or_of_an_option(tmp_path: Path) -> None:
    options = {"path": str(tmp_path / "logs"), "topic": "t"}
    batch = rows(key=[b"k"], value=[b"v"])
    names: list[Mapping[str, str]] = [
        {"checkpointLocation": checkpoint(tmp_path / "ck")},
        {"checkpointLocation": f"file:{checkpoint(tmp_path / 'ck')}"},  # the same query
        {"checkpointLocation": checkpoint(tmp_path / "ck2", "query-2")},
        {"txnAppId": "mine"},
    ]
    for more in names:
        writer = stream_writer({**options, **more}, schema(SCHEMA), False)
        writer.commit([writer.write(iter([batch]))], 0)
    assert len(records(tmp_path / "logs")) == 3
    with pytest.raises(ConfigError, match="needs option 'checkpointLocation' on the writer, or 'txnAppId'"):
        stream_writer(options, schema(SCHEMA), False)
    with pytest.raises(ConfigError, match="no query id was found in its file metadata"):
        stream_writer({**options, "checkpointLocation": str(tmp_path / "nothing")}, schema(SCHEMA), False)


def test_a_batch_write_with_a_version_is_written_once(tmp_path: Path) -> None:
    batch = rows(key=[b"k"], value=[b"v"])
    for version in ("1", "1", "2", "2", "1"):
        write(tmp_path / "logs", SCHEMA, batch, topic="t", txnAppId="job", txnVersion=version)
    assert len(records(tmp_path / "logs")) == 2
    write(tmp_path / "logs", SCHEMA, batch, topic="t")
    write(tmp_path / "logs", SCHEMA, batch, topic="t")
    assert len(records(tmp_path / "logs")) == 4
    with pytest.raises(ConfigError, match="txnVersion is 3, but there is no txnAppId; give that too"):
        write(tmp_path / "logs", SCHEMA, batch, topic="t", txnVersion="3")
    with pytest.raises(ConfigError, match="txnVersion is -1, expected 0 or more"):
        write(tmp_path / "logs", SCHEMA, batch, topic="t", txnAppId="job", txnVersion="-1")


def test_a_batch_without_rows_leaves_no_trace(tmp_path: Path) -> None:
    writer = batch_writer({"path": str(tmp_path / "logs"), "topic": "t"}, schema(SCHEMA), False)
    message = writer.write(iter([]))
    assert message == Staged(())
    writer.commit([message])
    assert not (tmp_path / "logs" / "octavo-commits.json").exists()


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        ("key binary", {"topic": "t"}, "Required attribute 'value' not found"),
        ("value binary", {}, "topic option required when no 'topic' attribute is present. Use the topic option"),
        ("value int", {"topic": "t"}, r"value attribute unsupported type int. value must be a\(n\) string or binary"),
        ("value binary, key long", {"topic": "t"}, r"key attribute unsupported type bigint. key must be a\(n\) string"),
        ("value binary, partition long", {"topic": "t"}, "partition attribute unsupported type bigint"),
        ("value binary, headers string", {"topic": "t"}, "headers attribute unsupported type string"),
        ("value binary, topic int", {}, r"topic attribute unsupported type int. topic must be a\(n\) string"),
        ("value binary", {"topic": "t", "kafka.key.serializer": "x"}, "Kafka option 'key.serializer' is not supported"),
        ("value binary", {"topic": "t", "kafka.compression.type": "brotli"}, "brotli"),
        ("value binary", {"topic": "t", "partitions": "0"}, "partitions must be positive"),
        ("value binary", {"topic": "t", "topicConfig.cleanup.polcy": "compact"}, "cleanup.policy"),
        ("value binary", {"topic": "t", "path": "s3://bucket/logs"}, "cannot write to a URL"),
    ],
)
def test_what_does_not_fit_is_refused_before_a_task_runs(
    tmp_path: Path, text: str, options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(OctavoError, match=sentence):
        batch_writer({"path": str(tmp_path / "logs"), **options}, schema(text), False)


def test_only_append_is_allowed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Save mode Overwrite not allowed for Kafka, expected mode\('append'\)"):
        batch_writer({"path": str(tmp_path / "logs"), "topic": "t"}, schema(SCHEMA), True)


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state", "__cluster_metadata"])
def test_internal_topics_are_refused_as_by_brokers(tmp_path: Path, topic: str) -> None:
    with pytest.raises(InvalidTopicError, match=f"topic {topic} is internal"):
        write(tmp_path, SCHEMA, rows(key=[b"k"], value=[b"v"]), topic=topic)
    with LogManager(tmp_path) as log_dir:
        log_dir.create_topic(topic, 1)
    with pytest.raises(InvalidTopicError, match=f"topic {topic} is internal"):
        write(tmp_path, "topic string, " + SCHEMA, rows(topic=[topic], key=[b"k"], value=[b"v"]))


def test_a_directory_may_be_spelt_as_spark_spells_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for path in (f"file:{tmp_path}/logs", f"file://{tmp_path}/logs"):
        writer = batch_writer({"path": path, "topic": "t"}, schema(SCHEMA), False)
        writer.commit([writer.write(iter([rows(key=[b"k"], value=[b"v"])]))])
    assert len(records(tmp_path / "logs")) == 2
    assert list((tmp_path / "work").iterdir()) == []
    with pytest.raises(ConfigError, match="hdfs:/logs: cannot write to a URL; give a path that all workers"):
        batch_writer({"path": "hdfs:/logs", "topic": "t"}, schema(SCHEMA), False)


def test_records_that_txn_app_id_skips_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for folder in ("first", "second"):
        options = {"path": str(tmp_path / "logs"), "topic": "t", "txnAppId": "copy"}
        options["checkpointLocation"] = checkpoint(tmp_path / folder, folder)
        writer = stream_writer(options, schema(SCHEMA), False)
        writer.commit([writer.write(iter([rows(key=[b"k"], value=[folder.encode()])]))], 0)
    assert [record["value"] for record in records(tmp_path / "logs")] == [b"first"]
    assert [record.getMessage() for record in caplog.records] == [
        "txnAppId copy has committed batch 0 or a later one: 1 record is skipped. A new checkpoint numbers batches from"
        " 0 again, and needs another txnAppId"
    ]
