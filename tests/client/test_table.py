"""Arrow data sent to a topic becomes the same records, in the same partitions and batches, as rows sent one by one."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import octavo
from octavo.errors import EncodingError, InvalidBatchError, UnknownTopicOrPartitionError
from octavo.format.batches.walker import walk
from octavo.format.compression import Codec
from octavo.kernels.layout import CODEC_MASK
from tests.client.stores import Store
from tests.storage.worlds import NOW_MS

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
SCHEMA = pa.schema(
    [("key", pa.binary()), ("value", pa.binary()), ("headers", HEADERS), ("timestamp", pa.timestamp("ms", "UTC"))]
)
CONTENT = st.none() | st.binary(max_size=30)
HEADER = st.fixed_dictionaries({"key": st.text("ab", max_size=2), "value": CONTENT})
# With a wider range of timestamps, the two topics would roll their segments at different batches.
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "key": CONTENT,
            "value": CONTENT,
            "headers": st.lists(HEADER, max_size=2),
            "timestamp": st.integers(NOW_MS - 10**6, NOW_MS),
        }
    ),
    max_size=40,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, batch_size=st.integers(1, 500), codec=st.sampled_from(["none", "none", "lz4"]))
def test_a_table_makes_the_batches_that_its_rows_make(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]], batch_size: int, codec: str
) -> None:
    store = Store(tmp_path_factory.mktemp("store"))
    store.logs.create_topic("one", 1)
    store.logs.create_topic("all", 1)
    with store.logs.producer(batch_size=batch_size, compression_type=codec, linger_ms=10_000) as producer:
        for row in rows:
            headers = [(header["key"], header["value"]) for header in row["headers"]]  # type: ignore[attr-defined]
            producer.send("one", row["value"], row["key"], headers, timestamp=row["timestamp"])  # type: ignore[arg-type]
        producer.flush()
        appended = producer.send_table("all", pa.Table.from_pylist(rows, SCHEMA))
        assert sum(part.records for part in appended) == len(rows)
        if codec == "none":
            assert store.batches("one") == store.batches("all")
    ours = [record._replace(topic="one") for record in store.records("all")]
    assert ours == store.records("one")
    store.logs.close()


def test_rows_go_to_the_partitions_of_their_keys(store: Store) -> None:
    store.logs.create_topic("one", 7)
    store.logs.create_topic("all", 7)
    keys = [b"%d" % (number % 50) for number in range(1000)]
    table = pa.table({"key": pa.array(keys, pa.binary()), "value": pa.array([b"%d" % n for n in range(1000)])})
    with store.logs.producer() as producer:
        for number, key in enumerate(keys):
            producer.send("one", b"%d" % number, key, timestamp=5)
        timed = table.append_column("timestamp", pa.array([5] * 1000, pa.int64()))
        producer.send_table("all", timed.to_batches(max_chunksize=300))
    assert [record._replace(topic="one") for record in store.records("all")] == store.records("one")


def test_rows_without_a_key_spread_by_batches(store: Store) -> None:
    store.logs.create_topic("t", 4)
    values = pa.array([b"v" * 90] * 1000, pa.binary())
    with store.logs.producer(batch_size=1000) as producer:
        producer.send_table("t", pa.table({"value": values}))
    counts = [store.logs.log("t", partition).log_end_offset for partition in range(4)]
    assert sum(counts) == 1000 and all(counts)
    assert [count % 10 for count in counts] == [0, 0, 0, 0]


def test_a_partition_column_decides(store: Store) -> None:
    store.logs.create_topic("t", 3)
    table = pa.table({"partition": pa.array([2, 0, None, 2], pa.int32()), "key": ["a", "b", "a", "c"]})
    with store.logs.producer() as producer:
        producer.send_table("t", table)
        with pytest.raises(UnknownTopicOrPartitionError, match="there is no partition 3 of topic 't'; it has 0 to 2"):
            producer.send_table("t", pa.table({"partition": [3], "value": [b"v"]}))
    assert [(record.partition, record.key) for record in store.records("t")] == [
        (0, b"b"), (1, b"a"), (2, b"a"), (2, b"c")
    ]  # fmt: skip


def test_what_a_scan_reads_can_be_sent(store: Store) -> None:
    store.logs.create_topic("source", 2)
    store.logs.create_topic("target", 2)
    with store.logs.producer() as producer:
        for number in range(100):
            producer.send("source", b"%d" % number, b"k%d" % (number % 7), [("h", None)], timestamp=number)
        producer.flush()
        producer.send_table("target", octavo.scan(store.folder, topics=["source"]).to_reader())
    assert [record._replace(topic="source") for record in store.records("target")] == store.records("source")


def test_timestamps_that_are_missing_are_now(store: Store) -> None:
    store.logs.create_topic("t", 1)
    with store.logs.producer() as producer:
        producer.send_table("t", pa.table({"value": [b"a"]}))
        producer.send_table("t", pa.table({"value": [b"b", b"c"], "timestamp": pa.array([None, 7], pa.int64())}))
    assert [record.timestamp for record in store.records("t")] == [NOW_MS, NOW_MS, 7]


def test_a_table_comes_after_what_was_sent(store: Store) -> None:
    store.logs.create_topic("t", 1)
    with store.logs.producer() as producer:
        producer.send("t", b"1")
        (appended,) = producer.send_table("t", pa.record_batch({"value": [b"2", b"3"]}))
        assert appended == ("t", 0, 1, 2)
        assert producer.send("t", b"4").offset == 3
    assert walk(store.batches("t")).table["base_sequence"].tolist() == [0, 1, 3]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_batches_have_the_producers_codec(store: Store, codec: str) -> None:
    store.logs.create_topic("t", 1)
    values = [b'{"number": %d, "text": "all of them are alike"}' % number for number in range(2000)]
    with store.logs.producer(compression_type=codec) as producer:
        producer.send_table("t", pa.table({"value": pa.array(values, pa.binary())}))
    assert [record.value for record in store.records("t")] == values
    assert (walk(store.batches("t")).table["attributes"] & CODEC_MASK == Codec[codec.upper()]).all()


def test_small_segments_take_what_fits(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.logs.create_topic("t", 1, {"segment.bytes": 5120})
    with store.logs.producer() as producer:
        producer.send_table("t", pa.table({"value": pa.array([b"v" * 100] * 500, pa.binary())}))
    assert store.logs.log("t", 0).log_end_offset == 500
    assert len(list(store.logs.log("t", 0).segments)) > 5
    store.logs.close()


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (pa.table({"colour": ["red"]}), EncodingError, "column 'colour' is not a column of records"),
        (5, EncodingError, "int is not Arrow data"),
        ({"value": ["v"]}, EncodingError, "dict is not Arrow data, expected a table (pyarrow.table)"),
        (["v"], EncodingError, "str is not Arrow data"),
        (pa.table({"value": ["v"], "timestamp": [-7]}), EncodingError, "timestamp -7, expected 0 or more"),
        (pa.table({"value": ["v"]}), InvalidBatchError, "key"),
    ],
)
def test_what_cannot_be_sent_is_refused(store: Store, data: object, error: type[Exception], words: str) -> None:
    store.logs.create_topic("t", 1, {"cleanup.policy": "compact"})
    with store.logs.producer() as producer:
        with pytest.raises(error, match=re.escape(words)):
            producer.send_table("t", data)
        assert producer.send("t", b"v", b"k").offset == 0
