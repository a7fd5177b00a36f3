"""A first minute with the installed package: `make wheels` runs it on the wheel and on the sdist, in empty
environments."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.docs.pages import ROOT
from tests.smoke.installed import COMMAND, ENVIRONMENT, FOREIGN, KERNELS, PYTHON, has, octavo, python, run
from tests.spark.sessions import why_not

SPARK = has("pyspark")
ORDERS = "a\tcoffee\nb\ttea\nc\tcake\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the log directory `logs`, in which the topic orders has three records."""
    folder = tmp_path_factory.mktemp("smoke")
    octavo("create", "logs", "--topic", "orders", folder=folder)
    octavo("produce", "logs", "--topic", "orders", "--key-separator", r"\t", folder=folder, given=ORDERS)
    return folder


def test_what_is_imported_is_what_was_installed(tmp_path: Path) -> None:
    where = Path(python("import octavo; print(octavo.__file__)", tmp_path).strip())
    assert where.is_relative_to(ROOT / "src") is not bool(FOREIGN)


@pytest.mark.skipif(not KERNELS, reason="OCTAVO_SMOKE_KERNELS does not say which kernels were built")
def test_the_kernels_are_those_that_were_built(tmp_path: Path) -> None:
    assert KERNELS in octavo("--version", folder=tmp_path)


@pytest.mark.skipif(KERNELS != "plain-Python", reason="compiled kernels are installed")
def test_missing_kernels_are_reported_with_what_to_do(folder: Path) -> None:
    said = run(COMMAND, "topics", "logs", folder=folder).stderr
    assert "install gcc" in said
    assert "repeat `pip install` with --force-reinstall --no-cache-dir" in said


def test_topics(folder: Path) -> None:
    found = json.loads(octavo("topics", "logs", "--json", folder=folder))
    assert (found["topic"], found["records"]) == ("orders", 3)


def test_cat(folder: Path) -> None:
    lines = octavo("cat", "logs", "--topic", "orders", folder=folder).splitlines()
    assert [(record["key"], record["value"]) for record in map(json.loads, lines)] == [
        ("a", "coffee"),
        ("b", "tea"),
        ("c", "cake"),
    ]


def test_cat_to_parquet(folder: Path) -> None:
    octavo("cat", "logs", "--topic", "orders", "--format", "parquet", "--output", "orders.parquet", folder=folder)
    rows = "import pyarrow.parquet; print(pyarrow.parquet.read_table('orders.parquet').num_rows)"
    assert python(rows, folder) == "3\n"


def test_verify(folder: Path) -> None:
    assert "0 problems" in octavo("verify", "logs", folder=folder)


def test_explain(folder: Path) -> None:
    assert "baseOffset" in octavo("explain", "--offset", 0, f"logs/orders-0/{0:020}.log", folder=folder)


def test_consume(folder: Path) -> None:
    assert octavo("consume", "logs", "--topic", "orders", "--group", "g", folder=folder).count("\n") == 3


def test_a_disk_of_a_real_broker_is_verified(tmp_path: Path) -> None:
    shutil.unpack_archive(ROOT / "tests" / "data" / "golden" / "v431-clean.tar.gz", tmp_path / "disk")
    assert "0 problems" in octavo("verify", "disk", folder=tmp_path)


def test_a_program_sends_and_scans(folder: Path) -> None:
    program = """
import octavo
with octavo.LogDir("own", create=True) as logs:
    logs.create_topic("t", partitions=1)
    with logs.producer() as producer:
        producer.send("t", b"one")
print(octavo.scan("own").to_table().column("value").to_pylist())
"""
    assert python(program, folder) == "[b'one']\n"


@pytest.mark.skipif(has("pandas"), reason="pandas is installed")
def test_pandas_is_asked_for_by_name(folder: Path) -> None:
    done = run(PYTHON, "-c", "import octavo; octavo.scan('logs').to_pandas()", folder=folder)
    assert "pip install" in done.stderr.splitlines()[-1]


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[str]:
    line = [str(COMMAND), "broker", "served", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(line, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        yield broker.stdout.readline().removeprefix("listening on ").strip()
        broker.send_signal(signal.SIGTERM)
        assert broker.wait(60) == 0


def test_kafkas_clients_reach_the_broker(servers: str) -> None:
    producer = Producer({"bootstrap.servers": servers})
    producer.produce("orders", b"a coffee")
    assert producer.flush(60) == 0
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition("orders", 0, 0)])
    message = consumer.poll(60)
    assert message is not None
    assert message.value() == b"a coffee"
    consumer.close()


@pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed (on Debian: apt-get install kcat)")
def test_kcat_reaches_the_broker(servers: str) -> None:
    kcat = ["kcat", "-b", servers, "-t", "orders"]
    subprocess.run([*kcat, "-P"], input="a coffee\na tea\n", text=True, check=True, timeout=60)
    shown = subprocess.run([*kcat, "-C", "-e", "-q"], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout == "a coffee\na tea\n"


@pytest.mark.skipif(SPARK, reason="PySpark is installed")
def test_without_spark_its_option_says_what_to_install(folder: Path) -> None:
    assert "pip install 'octavo[spark]'" in run(COMMAND, "topics", "logs", "--spark", folder=folder).stderr


@pytest.mark.skipif(not FOREIGN, reason="tests/spark asks more of this environment")
@pytest.mark.skipif(not SPARK, reason="PySpark is not installed")
def test_spark_reads_and_writes(folder: Path) -> None:
    if reason := why_not():
        pytest.skip(reason)
    program = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
orders = spark.read.format("octavo").option("subscribe", "orders").load("logs")
print(sorted(row.value.decode() for row in orders.select("value").collect()))
orders.select("key", "value").write.format("octavo").option("topic", "copy").mode("append").save("copied")
"""
    assert python(program, folder) == "['cake', 'coffee', 'tea']\n"
    assert json.loads(octavo("topics", "copied", "--json", folder=folder))["records"] == 3
