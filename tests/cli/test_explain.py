"""`octavo explain`: overviews, anatomies, tails, and failures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import fsspec
import pytest

from octavo.format.anatomy.text_files import TEXT_FILES
from octavo.format.batches.batch import build_batch
from octavo.format.compression import Codec
from octavo.format.indexes import offset_index, txn_index
from octavo.format.indexes.txn_index import AbortedTxn
from octavo.format.legacy.message_set import encode_message, encode_message_set
from octavo.format.record import Record
from octavo.format.small_files import producer_snapshot
from tests.cli.runs import Run, json_lines, octavo
from tests.cli.terminal import octavo_on_terminal
from tests.golden import archives

RECORDS = [Record(offset, 1700000000000, b"k", b"v%d" % offset) for offset in range(3)]
BATCH = build_batch(RECORDS)
SECOND = build_batch([record._replace(offset=record.offset + 3) for record in RECORDS], codec=Codec.GZIP)
MESSAGE = encode_message(Record(6, 5, None, b"six"), 1)
WRAPPER = encode_message_set([Record(7, 5, None, b"a"), Record(8, 5, None, b"b")], 1, codec=Codec.SNAPPY)
LOG = BATCH + SECOND + MESSAGE + WRAPPER


def explain(folder: Path, content: bytes, *options: str, name: str = "00000000000000000000.log") -> Run:
    (folder / name).write_bytes(content)
    return octavo("explain", name, *options, folder=folder)


def test_an_overview(tmp_path: Path) -> None:
    run = explain(tmp_path, LOG)
    heading, *lines = run.stdout.splitlines()
    assert heading.split() == [
        "position",
        "base",
        "offset",
        "last",
        "offset",
        "records",
        "size",
        "magic",
        "codec",
        "flags",
    ]
    assert [line.split() for line in lines[:4]] == [
        ["0", "0", "2", "3", str(len(BATCH)), "2", "none"],
        [str(len(BATCH)), "3", "5", "3", str(len(SECOND)), "2", "gzip"],
        [str(len(BATCH + SECOND)), "6", "6", "1", str(len(MESSAGE)), "1", "none"],
        [str(len(BATCH + SECOND + MESSAGE)), "?", "8", "?", str(len(WRAPPER)), "1", "snappy"],
    ]
    assert lines[4].split(maxsplit=1) == [str(len(LOG)), "the file ends with its last batch"]
    assert (run.exit, run.stderr) == (0, "")


def test_an_overview_as_json(tmp_path: Path) -> None:
    first, *_, last = json_lines(explain(tmp_path, LOG, "--json").stdout)
    assert first == {
        "position": 0, "baseOffset": 0, "lastOffset": 2, "records": 3, "size": len(BATCH), "magic": 2, "codec": "none",
        "flags": [], "problems": [],
    }  # fmt: skip
    assert last == {"position": len(LOG), "stop": "END", "meaning": "the file ends with its last batch"}


@pytest.mark.parametrize(
    ("tail", "meaning", "first_field", "exit_code"),
    [
        (bytes(500), "500 zero bytes to the end: a preallocated file", "offset", 0),
        (BATCH[:17], "17 bytes are left, but a batch begins with at least 18", "baseOffset", 0),
        (BATCH[:-1], f"the batch here takes {len(BATCH)} bytes, but {len(BATCH) - 1} are left", "baseOffset", 0),
        (bytes(30) + b"x" * 10, "a size of 0 here, expected at least 14: the 40 bytes to the end cannot", "offset", 1),
        (b"\xff" * 40, "a size of -1 here", "baseOffset", 1),
    ],
)
def test_why_the_batches_end(tmp_path: Path, tail: bytes, meaning: str, first_field: str, exit_code: int) -> None:
    run = explain(tmp_path, BATCH + tail)
    assert run.stdout.splitlines()[-1].split(maxsplit=1)[1].startswith(meaning)
    assert run.exit == exit_code
    anatomy = explain(tmp_path, BATCH + tail, "--position", str(len(BATCH) + 1))
    assert meaning in anatomy.stdout
    _, heading, first, *_ = anatomy.stdout.splitlines()
    assert "incomplete batch" in heading
    assert first.split()[2] == first_field
    assert anatomy.exit == exit_code


def test_one_byte_is_left(tmp_path: Path) -> None:
    assert " 1 byte is left, but a batch begins with at least 18" in explain(tmp_path, BATCH + b"\0").stdout


def test_flaws_of_batches(tmp_path: Path) -> None:
    damaged = bytearray(BATCH + SECOND)
    damaged[30] ^= 1
    damaged[len(BATCH) + 16] = 77
    run = explain(tmp_path, bytes(damaged))
    assert run.exit == 1
    assert [line.partition("WRONG: ")[2] for line in run.stdout.splitlines()[1:3]] == ["wrong CRC", "unknown magic"]


@pytest.mark.parametrize("position", [0, 1, 61, len(BATCH) - 1])
def test_the_batch_that_has_a_byte(tmp_path: Path, position: int) -> None:
    run = explain(tmp_path, LOG, "--position", str(position))
    heading, first, *lines = run.stdout.splitlines()
    assert heading.split() == ["position", "bytes", "field", "value", "meaning"]
    assert first.split() == ["0", f"({len(BATCH)}", "bytes)", "batch", "v2,", "offsets", "0", "to", "2"]
    fields = [line.split()[2] for line in lines if "(" not in line]
    assert fields[:5] == ["baseOffset", "batchLength", "partitionLeaderEpoch", "magic", "crc"]
    assert fields.count("timestampDelta") == 3
    assert run.exit == 0


@pytest.mark.parametrize(
    ("offset", "position"), [(2, 0), (3, len(BATCH)), (6, len(BATCH + SECOND)), (8, len(LOG) - len(WRAPPER))]
)
def test_the_batch_that_reaches_an_offset(tmp_path: Path, offset: int, position: int) -> None:
    (node,) = json_lines(explain(tmp_path, LOG, "--offset", str(offset), "--json").stdout)
    assert node["position"] == position

    def offsets(piece: dict[str, Any]) -> list[int]:
        """The offsets of the records shown in detail."""
        own = [piece["offset"]] if "offset" in piece and "children" in piece else []
        return own + [found for child in piece.get("children", []) for found in offsets(child)]

    assert offsets(node) == ([offset] if offset != 6 else [])
    (whole,) = json_lines(explain(tmp_path, LOG, "--offset", str(offset), "--all-records", "--json").stdout)
    (there,) = json_lines(explain(tmp_path, LOG, "--position", str(position), "--json").stdout)
    assert whole == there


def test_json_has_every_byte_once(tmp_path: Path) -> None:
    (node,) = json_lines(explain(tmp_path, BATCH, "--position", "0", "--json").stdout)

    def content(piece: dict[str, Any]) -> str:
        if "bytes" in piece:
            return str(piece["bytes"])
        return "".join(content(child) for child in piece["children"])

    assert content(node) == BATCH.hex()
    assert node["field"] == "batch"
    crc = node["children"][4]
    assert (crc["position"], crc["length"], crc["field"]) == (17, 4, "crc")


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    batch = build_batch([Record(0, 5, b"\xff\xfe", b"")])
    assert '{"base64":"//4="}' in explain(tmp_path, batch, "--position", "0", "--json").stdout
    assert "not UTF-8" in explain(tmp_path, batch, "--position", "0").stdout


def test_damage_is_shown_with_what_was_expected(tmp_path: Path) -> None:
    damaged = BATCH[:-1] + b"\x01"
    run = explain(tmp_path, damaged, "--offset", "0")
    stored = int.from_bytes(BATCH[17:21])
    assert f"WRONG: stored {stored}, computed " in run.stdout
    assert run.exit == 1


def test_a_folder_leads_on_to_a_topic_of_the_users(tmp_path: Path) -> None:
    assert octavo("explain", str(tmp_path)) == Run(0, "", f"octavo: {tmp_path}: the folder is empty\n")
    for name in ("__consumer_offsets-0", "orders-0"):
        (tmp_path / name).mkdir()
    assert octavo("explain", str(tmp_path)).stderr == f"octavo: next: octavo explain {tmp_path}/orders-0\n"


def test_a_terminal_shows_the_sizes_of_a_folders_files_with_units(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").write_bytes(bytes(20480))
    assert " 20480 (20 KiB)  a segment" in octavo_on_terminal(120, "explain", str(tmp_path))
    assert " 20480  a segment" in octavo("explain", str(tmp_path)).stdout


def test_an_empty_index_is_said_to_be_empty(tmp_path: Path) -> None:
    name = "00000000000000000000.index"
    assert explain(tmp_path, b"", name=name).stdout == "         0  the file is empty: it has no entries yet\n"
    assert explain(tmp_path, b"", "--json", name=name).stdout == ""


def test_an_index(tmp_path: Path) -> None:
    index = offset_index.encode([20, 33], [519, 2623], 0) + bytes(16)
    name = "00000000000000000000.index.deleted"
    run = explain(tmp_path, index, name=name)
    assert [line.split(maxsplit=2)[2] for line in run.stdout.splitlines()] == [
        "offset 20 is in or after the batch at position 519",
        "offset 33 is in or after the batch at position 2623",
        "bytes)  2 entries of zeros: a file keeps its full size until it is closed",
    ]
    assert "2623" in explain(tmp_path, index, "--offset", "40", name=name).stdout
    assert "relativeOffset" in explain(tmp_path, index, "--position", "7", name=name).stdout
    assert explain(tmp_path, index, "--offset", "40", "--json", name=name).stdout.startswith('{"position":8,')


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--position", "9999"), "position 9999 is beyond the end of the file"),
        (("--offset", "9"), "no batch extends to offset 9; its batches end at position"),
    ],
)
def test_what_is_not_there(tmp_path: Path, options: tuple[str, ...], sentence: str) -> None:
    run = explain(tmp_path, LOG, *options)
    assert (run.exit, run.stdout) == (1, "")
    assert sentence in run.stderr
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "options",
    [
        ("--position", "-1"),
        ("--offset", "x"),
        ("--position", "1", "--offset", "2"),
        ("--all-records",),
    ],
)
def test_wrong_usage(tmp_path: Path, options: tuple[str, ...]) -> None:
    run = explain(tmp_path, LOG, *options)
    assert (run.exit, run.stdout) == (2, "")
    assert run.stderr.endswith("see `octavo explain --help`\n")


def test_an_offset_before_the_segment_is_said_to_be_so(tmp_path: Path) -> None:
    later = build_batch([Record(offset, 1, b"k", b"v") for offset in (20, 21)])
    name = f"{15:020}.log"
    run = explain(tmp_path, later, "--offset", "2", name=name)
    assert run == Run(1, "", f"octavo: {name}: the segment begins with offset 15, so it cannot hold offset 2\n")
    assert explain(tmp_path, later, "--offset", "17", name=name).exit == 0  # compaction removed what was there


def test_an_aborted_transaction_is_found_by_an_offset_in_it(tmp_path: Path) -> None:
    name = f"{15:020}.txnindex"
    index = txn_index.encode([AbortedTxn(7, 31, 38, 39), AbortedTxn(8, 40, 44, 45)])
    for offset, position in ((31, 0), (38, 0), (41, txn_index.ENTRY.size)):
        (entry,) = json_lines(explain(tmp_path, index, "--offset", str(offset), "--json", name=name).stdout)
        assert entry["position"] == position
    run = explain(tmp_path, index, "--offset", "39", name=name)
    assert run.exit == 1
    assert "no aborted transaction around offset 39" in run.stderr


@pytest.mark.parametrize("name", [f"{15:020}.snapshot", "recovery-point-offset-checkpoint"])
def test_what_is_not_searched_by_offset_says_so(tmp_path: Path, name: str) -> None:
    content = producer_snapshot.encode([]) if name.endswith("snapshot") else b"0\n1\na 0 5\n"
    run = explain(tmp_path, content, "--offset", "3", name=name)
    assert run == Run(1, "", f"octavo: {name}: its entries have no offset to search by; use --position\n")


def test_a_url_is_explained_too(tmp_path: Path) -> None:
    by_path = explain(tmp_path, LOG)
    assert octavo("explain", f"file://{tmp_path}/{0:020}.log") == by_path
    fsspec.filesystem("memory").pipe("/explained/recovery-point-offset-checkpoint", b"0\n1\na 0 5\n")
    assert octavo("explain", "memory://explained/recovery-point-offset-checkpoint").exit == 0


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    missing = octavo("explain", "0.log", folder=tmp_path)
    assert missing == Run(1, "", "octavo: 0.log: No such file or directory\n")
    unknown = explain(tmp_path, b"", name="notes.txt")
    assert unknown.exit == 1
    assert "not a file that explain can read" in unknown.stderr
    nameless = explain(tmp_path, bytes(8), name="x.index")
    assert nameless.exit == 1
    (tmp_path / "1.log").mkdir()
    for line in (("explain", "1.log"), ("dump-log", "--files", "1.log")):
        assert octavo(*line, folder=tmp_path).stderr == "octavo: 1.log: Is a directory\n"


def test_a_checkpoint_is_one_line_per_entry(tmp_path: Path) -> None:
    run = explain(tmp_path, b"0\n2\na.b-c 0 5\nd 1 70\n", name="recovery-point-offset-checkpoint")
    assert (run.exit, run.stderr) == (0, "")
    assert run.stdout.splitlines() == [
        "         0  0  version of the format",
        "         2  2  how many entries follow",
        "         4  a.b-c 0 5  a.b-c-0: flushed up to offset 5",
        "        14  d 1 70  d-1: flushed up to offset 70",
    ]


def test_the_epoch_of_an_offset(tmp_path: Path) -> None:
    content = b"0\n2\n0 0\n2 600\n"
    [entry] = json_lines(explain(tmp_path, content, "--offset", "700", "--json", name="leader-epoch-checkpoint").stdout)
    assert (entry["position"], entry["meaning"]) == (8, "epoch 2 begins with offset 600")
    assert [(field["field"], field["position"], field["value"]) for field in entry["children"]] == [
        ("epoch", 8, 2),
        ("startOffset", 10, 600),
    ]
    assert "epoch 0 begins" in explain(tmp_path, content, "--offset", "599", name="leader-epoch-checkpoint").stdout


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("cleaner-offset-checkpoint", b"0\n2\na 0 1\nb 1\n", "        10  b 1  entry 1; WRONG: expected a line of"),
        ("cleaner-offset-checkpoint", b"0\n1\n\xff 0 1\n", "         4  \\xff 0 1  \\xff-0: compacted up to "),
        ("leader-epoch-checkpoint", b"7\n", "         0  7  version of the format; WRONG: checkpoint of version 7,"),
        ("meta.properties", b"#\nversion=1\n", "         0  #  comment; WRONG: meta.properties of version 1 has no"),
        ("partition.metadata", b"", "         0  (0 bytes)  an empty file; WRONG: expected two lines, found 0"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_text_file_stands_at_its_line(tmp_path: Path, name: str, content: bytes, line: str) -> None:
    run = explain(tmp_path, content, name=name)
    assert (run.exit, run.stderr) == (1, "")
    assert any(shown.startswith(line) for shown in run.stdout.splitlines()), run.stdout


def test_every_text_file_of_a_broker_can_be_explained() -> None:
    found = [path for path in archives.unpack("v431-clean").rglob("*") if path.name in TEXT_FILES]
    assert {path.name for path in found} == TEXT_FILES.keys()
    for path in found:
        run = octavo("explain", str(path))
        assert (run.exit, run.stderr) == (0, "")
        assert len(run.stdout.splitlines()) == len(path.read_bytes().splitlines())


# The damaged files that are wrong by themselves. What contradicts another file (an index) or ends as after a crash (a
# cut log) is not.
WRONG = {
    *(f"{name}.log" for name in ("bad-codec", "bad-magic", "count-negative", "count-too-large", "count-too-small")),
    *("flip-crc.log", *(f"flip-record-{codec}.log" for codec in ("gzip", "lz4", "none", "snappy", "zstd"))),
    *("length-negative.log", "length-too-small.log", "log-garbage-tail.log", "marker-type.log"),
    *("index-odd-length.index", "timeindex-odd-length.timeindex", "txnindex-cut.txnindex"),
    *("snapshot-cut.snapshot", "snapshot-empty.snapshot", "snapshot-flip.snapshot"),
}


@pytest.mark.parametrize(("archive", "wrong"), [("v431-corrupt", WRONG), ("v0901-compacted", set())])
def test_every_file_of_real_brokers_can_be_explained(archive: str, wrong: set[str]) -> None:
    root, codes = archives.unpack(archive), dict[str, int]()
    for kind in ("*.log", "*.index", "*.timeindex", "*.snapshot", "*.txnindex"):
        for path in archives.files(archive, kind):
            run = octavo("explain", str(path), folder=root)
            name = f"{path.parent.name}{path.suffix}"
            codes[name] = max(run.exit, codes.get(name, 0))  # some folders have several segments
            assert not run.stderr
    assert codes == {name: int(name in wrong) for name in codes}
    assert wrong <= codes.keys()


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
@pytest.mark.parametrize("options", [(), ("--offset", "0")], ids=["overview", "anatomy"])
def test_on_a_terminal_lines_fit_and_lose_no_finding(tmp_path: Path, columns: int, options: tuple[str, ...]) -> None:
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(BATCH[:-1] + b"?" + SECOND)
    seen = octavo_on_terminal(columns, "explain", str(file), *options)
    plain = re.sub("\x1b\\[[0-9;]*m", "", seen)
    assert max(map(len, plain.splitlines())) <= columns
    assert "WRONG:" in plain
    assert len(plain.splitlines()) > 2
