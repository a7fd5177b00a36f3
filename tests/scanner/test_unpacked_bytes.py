"""How large a decompressed batch may be, for all readers, with an error that says how to allow more; and how many
records explain shows."""

from __future__ import annotations

from pathlib import Path

import pytest

import octavo
from octavo.errors import ConfigError, DecompressionLimitError, ScanError
from octavo.format.batches import decoder
from octavo.format.batches.batch import build_batch
from octavo.format.compression import DEFAULT_LIMIT, Codec, unpack_limit
from octavo.format.record import Record
from tests.cli.runs import octavo as octavo_command
from tests.cli.runs import printed
from tests.scanner.segments import write_segment
from tests.storage.batches import batch

HOW = "to change this limit, give max_unpacked_bytes, --max-unpacked-bytes or OCTAVO_MAX_UNPACKED_BYTES"


def bomb(codec: Codec, size: int = 100_000) -> bytes:
    return build_batch([Record(1, 1000, None, bytes(size))], codec=codec)


@pytest.fixture(params=[Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD], ids=str)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write_segment(tmp_path / "orders-0", 0, batch(0), bomb(request.param), batch(2))


def test_a_scan_says_which_batch_is_too_large_and_how_to_read_it(log: Path) -> None:
    with pytest.raises(DecompressionLimitError, match=HOW) as raised:
        octavo.scan(log.parent, max_unpacked_bytes=50_000).to_table()
    assert raised.value.path == str(log)
    assert raised.value.position is not None
    assert "a batch may unpack to 50000 bytes" in str(raised.value)
    scan = octavo.scan(log.parent, max_unpacked_bytes=50_000, on_damage="skip")
    assert [record.offset for record in scan] == [0, 2]
    assert len(octavo.scan(log.parent, max_unpacked_bytes=200_000).to_table()) == 3
    with pytest.raises(ScanError, match="max_unpacked_bytes must be above 0, not 0"):
        octavo.scan(log.parent, max_unpacked_bytes=0)


def test_a_limit_above_what_a_column_can_hold_is_not_named(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "_MOST_UNPACKED", 50_000)
    with pytest.raises(DecompressionLimitError, match="a batch may unpack to 50000 bytes, never more"):
        octavo.scan(log.parent, max_unpacked_bytes=1 << 40).to_table()


def test_commands_have_an_option_for_the_limit(log: Path) -> None:
    limit = "--max-unpacked-bytes", "50000"
    for line in (
        ("cat", "--format", "raw", str(log)),
        ("verify", str(log.parent)),
        ("explain", str(log), "--position", "200"),
    ):
        assert printed(*line).exit == 0
        run = printed(*line, *limit)
        assert run.exit == 1
        assert HOW in run.stdout + run.stderr
        assert printed(*line).exit == 0  # the limit was only for that run
    assert unpack_limit() == DEFAULT_LIMIT


def test_the_environment_sets_it_for_all_others(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_MAX_UNPACKED_BYTES", "50000")
    dumped = octavo_command("dump-log", "--print-data-log", "--files", str(log))
    assert HOW in dumped.stderr
    monkeypatch.setenv("OCTAVO_MAX_UNPACKED_BYTES", "much")
    with pytest.raises(ConfigError, match="OCTAVO_MAX_UNPACKED_BYTES is 'much', expected a number of bytes"):
        octavo.scan(log.parent).to_table()


def test_without_memory_a_command_says_so(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("octavo.scanner.reading.source.Source.__iter__", fail)
    run = printed("cat", str(log))
    assert run.exit == 1
    assert run.stderr.startswith("octavo: not enough memory to read this; --max-unpacked-bytes")


def test_explain_shows_only_some_of_many_records(tmp_path: Path) -> None:
    records = [Record(number, 1000, None, b"") for number in range(10_005)]
    log = write_segment(tmp_path / "orders-0", 0, build_batch(records))
    few = octavo_command("explain", str(log), "--position", "0").stdout
    assert "record 9999 " in few
    assert "record 10000 " not in few
    assert "5 more records, which are not shown" in few
    assert "record 10004 " in octavo_command("explain", str(log), "--position", "0", "--all-records").stdout
    assert "record 10003 " in octavo_command("explain", str(log), "--offset", "10003").stdout
