"""Log directories in SQL: views, tables, INSERT, and what a table leaves when it is dropped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.orders import write_orders

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

from tests.spark.queries import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def sql(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.sql("CREATE DATABASE IF NOT EXISTS logs")
    session.sql("USE logs")
    return session


def test_a_view_and_a_table_keep_their_options(sql: SparkSession, tmp_path: Path) -> None:
    logs = write_orders(tmp_path / "logs")
    ends = json.dumps({"orders": {"0": 20, "1": 10}})
    given = {
        "v": f"CREATE TEMPORARY VIEW v USING octavo OPTIONS (path '{logs}', endingOffsets '{ends}')",
        "t": f"CREATE TABLE t USING octavo OPTIONS (path '{logs}', subscribe 'orders', endingOffsets '{ends}')",
        "l": f"CREATE TABLE l USING octavo OPTIONS (endingOffsets '{ends}') LOCATION '{logs}'",
        "p": f"""CREATE TABLE p USING octavo OPTIONS (paths '["{logs}"]', endingOffsets '{ends}')""",
    }
    for name, statement in given.items():
        sql.sql(statement)
        (row,) = sql.sql(f"SELECT count(*) AS records, max(offset) AS last FROM {name} WHERE partition = 0").collect()
        assert tuple(row) == (20, 19), name
    one = json.dumps({"orders": {"0": 5, "1": 0}})
    assert sql.sql(f"SELECT * FROM t WITH (endingOffsets = '{one}')").count() == 5
    assert sql.table("v").schema["key"].metadata == {}, "only a table's schema carries options"
    for name in ("t", "l", "p"):
        sql.sql(f"DROP TABLE {name}")
    assert len(list(logs.rglob("*.log"))) == 3, "the directory is not the table's to delete"


def test_a_table_accepts_rows_and_is_streamed(sql: SparkSession, tmp_path: Path) -> None:
    sql.sql(f"CREATE TABLE out USING octavo OPTIONS (topic 'payments') LOCATION '{tmp_path}/out'")
    texts = "CAST(CAST(id AS STRING) AS BINARY), CAST(CAST(id * 2 AS STRING) AS BINARY)"
    sql.sql(f"INSERT INTO out (key, value) SELECT {texts} FROM range(10)")
    assert (tmp_path / "out" / "payments-0").is_dir()
    rows = sql.sql("SELECT CAST(key AS STRING), CAST(value AS STRING) FROM out WHERE topic = 'payments'").collect()
    assert {int(row.key): int(row.value) for row in rows} == {number: 2 * number for number in range(10)}
    stream = sql.readStream.option("startingOffsets", "earliest").table("out")
    run(stream.writeStream.format("memory").queryName("sql_stream"))
    assert sql.table("sql_stream").count() == 10
    sql.sql("DROP TABLE out")


def test_a_table_has_options_of_the_source_and_of_the_sink() -> None:
    from pyspark.sql.types import BinaryType, StructField, StructType

    from octavo.spark.data_source import OctavoDataSource
    from octavo.spark.query.table import table_schema

    given = {
        "path": "/out",
        "topic": "t",
        "topicConfig.retention.ms": "5",
        "subscribe": "t",
        "includeHeaders": "true",
        "kafka.batch.size": "5",
        "subscrbe": "u",
    }
    created = {**given, "provider": "octavo", **{f"option.{name}": text for name, text in given.items()}}
    names = ("value", "key", "topic", "partition", "offset", "timestamp", "timestampType")
    schema = table_schema(StructType([StructField(name, BinaryType()) for name in names]), created)
    source = OctavoDataSource({"columns": "value"})
    assert source._options(schema, "source") == {
        "path": "/out",
        "subscribe": "t",
        "includeHeaders": "true",
        "kafka.batch.size": "5",
        "subscrbe": "u",
        "columns": "value",
    }
    assert source._options(schema, "sink") == {
        "path": "/out",
        "topic": "t",
        "topicConfig.retention.ms": "5",
        "includeHeaders": "true",
        "kafka.batch.size": "5",
        "subscrbe": "u",
        "columns": "value",
    }


def test_a_table_with_columns_says_how_to_create_it(sql: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import AnalysisException

    sql.sql(f"CREATE TABLE c (key BINARY, value BINARY) USING octavo LOCATION '{tmp_path}'")
    with pytest.raises(AnalysisException, match="create the table without a list of columns"):
        sql.sql("SELECT * FROM c").collect()
    sql.sql("DROP TABLE c")


def test_rows_of_a_table_do_not_go_back_into_it(sql: SparkSession, tmp_path: Path) -> None:
    import octavo

    sql.sql(f"CREATE TABLE src USING octavo OPTIONS (topic 'src') LOCATION '{tmp_path}/src'")
    sql.sql("INSERT INTO src (key, value) SELECT CAST('k' AS BINARY), CAST('v' AS BINARY)")
    create = f"CREATE TABLE c USING octavo OPTIONS (topic 'c') LOCATION '{tmp_path}/c' AS SELECT"
    for columns, sentence in (("*", "rows with offsets"), ("key, value", "AS SELECT cannot be used")):
        with pytest.raises(Exception, match=sentence):
            sql.sql(f"{create} {columns} FROM src")
        sql.sql("DROP TABLE IF EXISTS c")
    rows = sql.table("src").select("key", "value")
    with pytest.raises(Exception, match="no log directory"):
        rows.write.format("octavo").mode("append").save()
    with pytest.raises(Exception, match="topic option required"):
        rows.write.format("octavo").mode("append").save(f"{tmp_path}/other")
    rows.selectExpr("key", "value", "'zzz' AS topic").write.format("octavo").mode("append").save(f"{tmp_path}/other")
    sql.sql(f"CREATE TABLE dst USING octavo OPTIONS (topic 'dst') LOCATION '{tmp_path}/dst'")
    sql.sql("INSERT INTO dst (key, value) SELECT key, value FROM src")
    found = {place: octavo.scan(tmp_path / place).count() for place in ("src", "other", "dst")}
    assert found == {"src": 1, "other": 1, "dst": 1}
    assert (tmp_path / "other" / "zzz-0").is_dir()
    for name in ("src", "dst"):
        sql.sql(f"DROP TABLE {name}")
