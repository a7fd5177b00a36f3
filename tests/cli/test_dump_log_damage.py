"""What `octavo dump-log` prints for damaged logs, as Kafka 4.3.1 does: everything before the failure."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from octavo.format.batches.batch import build_batch
from octavo.format.batches.control import ControlType, EndTransactionMarker, build_marker_batch
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message, encode_message_set
from octavo.format.record import Header, Record
from octavo.kernels import layout
from tests.cli.runs import Run, octavo
from tests.format.crafted import crafted, sealed

RECORDS = [Record(offset, 1000 + offset, b"k", b"v%d" % offset) for offset in range(3)]
NAME = "00000000000000000000.log"
START = f"Dumping {NAME}\nLog starting offset: 0\n"


def dump(folder: Path, content: bytes, *flags: str) -> Run:
    (folder / NAME).write_bytes(content)
    return octavo("dump-log", "--files", NAME, *flags, folder=folder)


def lines(run: Run) -> list[str]:
    assert run.stdout.startswith(START)
    return run.stdout.removeprefix(START).splitlines()


def one_sentence(run: Run) -> str:
    assert run.exit == 1
    assert run.stderr.startswith(f"octavo: {NAME}")
    assert run.stderr.count("\n") == 1
    return run.stderr


def test_an_unknown_codec_stops_in_the_middle_of_its_line(tmp_path: Path) -> None:
    run = dump(tmp_path, crafted(build_batch(RECORDS), attributes=7))
    assert run.stdout.endswith(" isControl: false deleteHorizonMs: OptionalLong.empty")
    assert "codec 7, expected 0 to 4" in one_sentence(run)


def test_an_unknown_codec_of_a_message_stops_after_its_offset(tmp_path: Path) -> None:
    message = bytearray(encode_message(RECORDS[2], 1))
    message[layout.MESSAGE_ATTRIBUTES_POSITION] = 6
    assert dump(tmp_path, bytes(message)).stdout == f"{START}offset: 2"


def test_a_negative_magic_stops_after_its_offset(tmp_path: Path) -> None:
    message = bytearray(encode_message(RECORDS[2], 1))
    message[layout.MAGIC_POSITION] = 0xFF
    run = dump(tmp_path, bytes(message))
    assert run.stdout == f"{START}offset: 2"
    assert "magic -1" in one_sentence(run)


def test_an_unknown_magic_is_read_as_the_latest(tmp_path: Path) -> None:
    run = dump(tmp_path, crafted(build_batch(RECORDS), magic=9), "--deep-iteration")
    assert run.exit == 0
    assert " magic: 9 compresscodec: none " in lines(run)[0]
    assert len(lines(run)) == 4


def test_records_after_a_wrong_crc_are_still_read(tmp_path: Path) -> None:
    batch = build_batch(RECORDS)
    batch = batch[: layout.CRC_POSITION] + (1).to_bytes(4) + batch[layout.ATTRIBUTES_POSITION :]
    run = dump(tmp_path, batch, "--print-data-log")
    assert lines(run)[0].endswith(" crc: 1 isvalid: false")
    assert [line.rpartition("payload: ")[2] for line in lines(run)[1:]] == ["v0", "v1", "v2"]
    assert run.exit == 0


@pytest.mark.parametrize(("count", "shown"), [(4, 3), (2, 1), (-1, 0)])
def test_records_before_the_damage_are_printed(tmp_path: Path, count: int, shown: int) -> None:
    # A count of two for three records: the extra bytes are noticed when the second one is read.
    run = dump(tmp_path, crafted(build_batch(RECORDS), recordsCount=count), "--deep-iteration")
    assert len(lines(run)) == 1 + shown
    one_sentence(run)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_compressed_batch_shows_all_its_records_or_none(tmp_path: Path, codec: Codec) -> None:
    run = dump(tmp_path, crafted(build_batch(RECORDS, codec=codec), recordsCount=4), "--deep-iteration")
    assert len(lines(run)) == 1
    one_sentence(run)


def test_batches_before_the_damage_are_printed_and_later_ones_are_not(tmp_path: Path) -> None:
    good = build_batch(RECORDS)
    length = layout.BATCH_OVERHEAD - layout.LOG_OVERHEAD
    empty = crafted(good[: layout.BATCH_OVERHEAD], recordsCount=0, batchLength=length)
    bad = crafted(good, recordsCount=2)
    run = dump(tmp_path, good + empty + good + bad + good, "--deep-iteration")
    assert [line[:10] for line in lines(run)] == [
        "baseOffset", *["| offset: "] * 3, "baseOffset", "baseOffset", *["| offset: "] * 3, "baseOffset", "| offset: ",
    ]  # fmt: skip
    one_sentence(run)


def test_a_batch_shorter_than_a_header_shows_what_follows_it(tmp_path: Path) -> None:
    batch = build_batch(RECORDS)
    short = crafted(batch, batchLength=28)[:40]
    run = dump(tmp_path, short + batch)
    assert " size: 40 magic: 2 " in lines(run)[0]
    assert lines(run)[0].endswith(" isvalid: false")
    assert " position: 40 " in lines(run)[1]
    deep = dump(tmp_path, short + batch, "--deep-iteration")
    assert lines(deep) == lines(run)[:1]
    one_sentence(deep)
    alone = dump(tmp_path, short)
    assert alone.stdout == START
    assert "a batch header of 40 bytes, expected 61" in one_sentence(alone)


def test_a_message_whose_value_reaches_beyond_it(tmp_path: Path) -> None:
    message = bytearray(encode_message(RECORDS[0], 0))
    message[-6:-2] = (99).to_bytes(4)
    message[12:16] = zlib.crc32(message[16:]).to_bytes(4)
    crc = int.from_bytes(message[12:16])
    shown = f"| offset: 0 NoTimestampType: -1 keySize: 1 valueSize: 99 isValid: true crc: {crc}"
    assert lines(dump(tmp_path, bytes(message), "--deep-iteration"))[1:] == [shown]
    run = dump(tmp_path, bytes(message), "--print-data-log")
    assert run.stdout.endswith(shown)  # without a line break
    one_sentence(run)
    run = dump(tmp_path, bytes(message), "--offsets-decoder", "--skip-record-metadata")
    assert lines(run)[1:] == ["| key: Error at offset 0, skipping. newLimit > capacity: (99 > 2)"]


def test_inner_messages_with_a_wrong_crc(tmp_path: Path) -> None:
    wrapper = encode_message_set(RECORDS, 1, codec=Codec.GZIP)
    run = dump(tmp_path, wrapper, "--print-data-log")
    assert [line.partition(" crc")[0] for line in lines(run)[1:]] == [
        f"| offset: {n} CreateTime: {1000 + n} keySize: 1 valueSize: 2 isValid: true" for n in range(3)
    ]
    inner = b"".join(encode_message(record, 1) for record in RECORDS)
    inner = inner[:12] + b"\0\0\0\0" + inner[16:]
    packed = zlib.compress(inner, wbits=31)
    wrapper = encode_message(Record(2, 1002, None, packed), 1, Codec.GZIP)
    validity = [" isValid: true " in line for line in lines(dump(tmp_path, wrapper, "--deep-iteration"))[1:]]
    assert validity == [False, True, True]


def test_zeros_of_a_preallocated_file(tmp_path: Path) -> None:
    run = dump(tmp_path, build_batch(RECORDS) + bytes(100))
    assert len(lines(run)) == 1
    assert "zeros" in one_sentence(run)


@pytest.mark.parametrize("left", [1, 17, 60])
def test_an_incomplete_batch_at_the_end(tmp_path: Path, left: int) -> None:
    batch = build_batch(RECORDS)
    run = dump(tmp_path, batch + batch[:left])
    assert lines(run)[1:] == [f"Found {left} invalid bytes at the end of {NAME}"]
    limited = dump(tmp_path, batch + batch[:left], "--max-bytes", str(len(batch) + left))
    assert lines(limited) == lines(run)[:1]
    assert (run.exit, run.stderr) == (0, "")


def test_gaps_and_offsets_that_go_back_are_reported(tmp_path: Path) -> None:
    first = build_batch([RECORDS[0], RECORDS[2]])
    run = dump(tmp_path, first + build_batch([RECORDS[1]]), "--deep-iteration")
    path = tmp_path / NAME
    assert run.stderr == f"Non-consecutive offsets in {path}\n  0 is followed by 2\n  2 is followed by 1\n"


def test_control_records_are_never_printed_as_data(tmp_path: Path) -> None:
    marker = EndTransactionMarker(ControlType.ABORT, 9)
    batch = build_marker_batch(marker, offset=0, timestamp=5, producer_id=4000, producer_epoch=3)
    assert lines(dump(tmp_path, batch, "--print-data-log"))[1:] == [
        "| offset: 0 CreateTime: 5 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] "
        "endTxnMarker: ABORT coordinatorEpoch: 9"
    ]
    assert lines(dump(tmp_path, batch, "--print-data-log", "--skip-record-metadata"))[1:] == [""]
    unknown = batch[:-9] + b"\x63" + batch[-8:]
    assert lines(dump(tmp_path, unknown, "--deep-iteration"))[1].endswith(" headerKeys: [] controlType: UNKNOWN(99)")
    broken = sealed(batch[:-12] + b"\xff" + batch[-11:])
    run = dump(tmp_path, broken, "--deep-iteration")
    assert run.stdout.endswith("sequence: -1 headerKeys: []")
    one_sentence(run)


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    record = Record(0, 5, b"\xed\xa0\x80", b"a\xffb", (Header("\udced\udca0\udc80", None), Header("\udcff", b"")))
    (line,) = lines(dump(tmp_path, build_batch([record]), "--print-data-log"))[1:]
    assert line.endswith("headerKeys: [�,�] key: � payload: a�b")


def test_a_file_larger_than_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from octavo.cli.dump_log import log
    from octavo.format.batches.chunk_walk import walk_chunks

    batches = b"".join(
        build_batch([record._replace(offset=3 * n + record.offset) for record in RECORDS]) for n in range(50)
    )
    whole = dump(tmp_path, batches + b"tail", "--print-data-log")
    monkeypatch.setattr(log, "walk_chunks", lambda reader: walk_chunks(reader, chunk_bytes=200))
    assert dump(tmp_path, batches + b"tail", "--print-data-log") == whole
    assert len(lines(whole)) == 201


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("00", "", "key: Error at offset 0, skipping. Could not read version from key's buffer."),
        ("0009", "", "key: Unknown record type 9 at offset 0, skipping."),
        ("0003000167", None, 'key: {"type":"3","data":{"groupId":"g"}} payload: <DELETE>'),
        ("0003000167", "00", "key: Error at offset 0, skipping. Could not read version from value's buffer."),
        ("0003000167", "0009", "key: Error at offset 0, skipping. Found an unknown record version 9 for 3 type"),
        ("00030009", "", "due to: Error reading byte array of 9 byte(s): only 0 byte(s) available."),
        ("0003ffff", "", "due to: non-nullable field groupId was serialized as null."),
        ("000300016700", "00000000", "from value's buffer due to: null."),
        (
            "0007000167000161",
            "0000" + "7f",
            "due to: Tried to allocate a collection of size 126, but there are only 0 bytes remaining..",
        ),
    ],
)
def test_records_that_a_decoder_cannot_read(tmp_path: Path, key: str, value: str | None, expected: str) -> None:
    record = Record(0, 5, bytes.fromhex(key), None if value is None else bytes.fromhex(value))
    run = dump(tmp_path, build_batch([record]), "--offsets-decoder", "--skip-record-metadata")
    assert lines(run)[1].endswith(expected)
    assert run.exit == 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "Error at 0, skipping. Error while reading frame version"),
        ("00", "Error at 0, skipping. Could not deserialize metadata record with frame version 0. Note that upgrades"),
        ("05", "unknown frame version 5(only frame version 1 is supported)"),
        ("0180", "Error while reading type"),
        ("01808004", "Value for type was too large."),
        ("016300", "org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id 99"),
        ("010c00", "Failed to deserialize record with type 12"),
        ("01140000ff", "Found 1 byte(s) of garbage after 20"),
        ("01140000", '{"type":"NO_OP_RECORD","version":0,"data":{}}'),
        # An unknown version is only checked inside structs: without an element, and with one.
        ("01147f00", '{"type":"NO_OP_RECORD","version":127,"data":{}}'),
        ("010e7f01026b00000000000000000000", '"version":127,"data":{"entity":[],"key":"k"'),
        ("010e7f02057573657200" + "00" + "026b00000000000000000000", "Failed to deserialize record with type 14"),
    ],
)
def test_metadata_records(tmp_path: Path, value: str | None, expected: str) -> None:
    record = Record(0, 5, None, None if value is None else bytes.fromhex(value))
    run = dump(tmp_path, build_batch([record]), "--cluster-metadata-decoder", "--skip-record-metadata")
    assert expected in lines(run)[1]
