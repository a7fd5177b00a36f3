"""onDamage: a damaged batch fails a query with the option's name, or is skipped and reported to the driver."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from octavo.errors import ConfigError, CorruptRecordError, IllegalStateError, KafkaStorageError
from tests.scanner.refusals import unlisted
from tests.scanner.segments import write_segment
from tests.spark.orders import TEN

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

import octavo.spark
from octavo.spark.query.source_options import SourceOptions
from octavo.spark.source.batch_reader import batch_reader
from octavo.spark.source.stream_reader import stream_reader
from tests.spark.queries import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOLD = "position 1171: a batch at offset 10 (up to 19, 10 records) whose CRC does not match the stored"
SIZE = len(TEN[0])


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two partitions of 50 and 10 records; the second batch of the first is damaged: offsets 10 to 19."""
    log = write_segment(tmp_path / "logs" / "orders-0", 0, *TEN[:5])
    write_segment(tmp_path / "logs" / "orders-1", 0, *TEN[:1])
    damage(log, SIZE + SIZE // 2)
    return tmp_path / "logs"


def damage(log: Path, position: int) -> None:
    data = bytearray(log.read_bytes())
    data[position] ^= 1
    log.write_bytes(data)


def read(logs: Path, **options: str) -> list[tuple[int, int]]:
    given = {"path": str(logs), "subscribe": "orders", **options}
    reader = batch_reader(given, SourceOptions.of(given).schema())
    return [row for planned in reader.partitions() for batch in reader.read(planned) for row in _places(batch)]


def _places(batch: Any) -> list[tuple[int, int]]:
    return list(zip(batch["partition"].to_pylist(), batch["offset"].to_pylist(), strict=True))


LEFT = [*((0, offset) for offset in (*range(10), *range(20, 50))), *((1, offset) for offset in range(10))]


def test_the_error_names_the_option_and_the_option_skips_the_batch(
    logs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(CorruptRecordError) as error:
        read(logs)
    assert TOLD in str(error.value)
    assert '.option("onDamage", "skip")' in str(error.value)
    with caplog.at_level(logging.WARNING, "octavo.spark"):
        assert read(logs, onDamage="SKIP") == LEFT
    (line,) = caplog.messages
    assert TOLD in line
    assert line.endswith("; skipped")
    with pytest.raises(ConfigError, match="onDamage is perhaps, expected fail or skip"):
        read(logs, onDamage="perhaps")


def test_a_damaged_end_is_not_skipped_in_silence(logs: Path) -> None:
    damage(logs / "orders-1" / "00000000000000000000.log", -1)
    with pytest.raises(CorruptRecordError, match=r"orders-1.*the log ends at position 0, offset 0"):
        read(logs, endingOffsets='{"orders":{"0":10,"1":-1}}')
    assert read(logs, endingOffsets='{"orders":{"0":10,"1":0}}', onDamage="skip") == LEFT[:10]


def test_a_stream_skips_too_and_says_so_once(
    logs: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"path": str(logs), "subscribe": "orders", "startingOffsets": "earliest", "onDamage": "skip"}
    write_segment(logs / "orders-2", 0, *TEN[:1])
    write_segment(logs / "orders-3", 7, *TEN[:1])
    unlisted(monkeypatch, "orders-2", "00000000000000000007.log")
    stream = stream_reader(given, SourceOptions.of(given).schema())
    with caplog.at_level(logging.WARNING, "octavo.spark"):
        start = stream.initialOffset()
        for _ in range(3):
            end = stream.latestOffset(start, stream.getDefaultReadLimit())
    assert end == {"orders": {"0": 50, "1": 10}}
    one, two = caplog.messages
    assert "orders-2: Permission denied; not read" in one
    assert "orders-3/00000000000000000007.log: Permission denied; not read" in two
    rows = [
        row for planned in stream.partitions(start, end) for batch in stream.read(planned) for row in _places(batch)
    ]
    assert rows == LEFT
    failing = stream_reader({**given, "onDamage": "fail"}, SourceOptions.of(given).schema())
    with pytest.raises(KafkaStorageError, match=r"orders-2: Permission denied\. .*onDamage"):
        failing.initialOffset()


def test_one_bad_batch_does_not_end_a_query_over_many_directories(
    spark: SparkSession, logs: Path, tmp_path: Path
) -> None:
    from pyspark.errors import PySparkException

    session = spark.newSession()
    with pytest.raises(IllegalStateError, match=r"octavo\.spark\.register\(spark\)"):
        octavo.spark.skipped(session)
    octavo.spark.register(session)
    places = [str(logs)]
    for number in range(2, 42):
        write_segment(tmp_path / f"disk{number}" / f"orders-{number}", 0, *TEN[:1])
        places.append(str(tmp_path / f"disk{number}"))
    reader = session.read.format("octavo").option("subscribe", "orders")
    with pytest.raises(PySparkException) as error:
        reader.load(places).count()
    text = str(error.value)
    assert TOLD in text
    assert '.option("onDamage", "skip")' in text
    assert text.count("File ") <= 2, text  # only the frame where the error leaves Octavo
    damage(tmp_path / "disk9" / "orders-9" / "00000000000000000000.log", -1)  # planning already finds it
    assert reader.option("onDamage", "skip").load(places).count() == 40 + 10 + 390
    notes = [note for note in octavo.spark.skipped(session) if str(tmp_path) in note.path]
    assert len(notes) == 2
    assert "orders-9" in notes[0].path
    assert TOLD in notes[1].sentence
    damage(tmp_path / "disk3" / "orders-3" / "00000000000000000000.log", -1)
    write_segment(tmp_path / "disk3" / "orders-3", 10, TEN[1])
    stream = session.readStream.format("octavo").options(
        subscribe="orders", startingOffsets="earliest", onDamage="skip"
    )
    run(stream.option("paths", json.dumps(places)).load().writeStream.format("memory").queryName("damaged"))
    assert session.table("damaged").count() == 440
    (late,) = [note for note in octavo.spark.skipped(session) if str(tmp_path / "disk3") in note.path]
    assert "position 0" in late.sentence
