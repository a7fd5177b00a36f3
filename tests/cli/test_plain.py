"""What a terminal would obey is printed as an escape, wherever it comes from: names, keys, values, headers, errors."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest

from octavo.cli.plain import plain, plain_csv, plain_json
from octavo.format.batches.batch import build_batch
from octavo.format.record import Header, Record
from tests.cli.runs import Run, octavo, printed
from tests.scanner.segments import write_segment

ACTIVE = [*range(0x20), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
STRUCTURE = {"\n", "\t"}
EVIL = "\x1b[2J\x07\r\x7f\x9b31m\u202egnp.\u2066\u061c"
RAW = set(map(chr, ACTIVE)) - STRUCTURE


def quiet(run: Run) -> Run:
    """A run that printed nothing that a terminal would obey."""
    assert not set(run.stdout + run.stderr) & RAW
    return run


@pytest.mark.parametrize("code", [*ACTIVE, 0xDC9B, 0xD800], ids=hex)
def test_every_active_character_becomes_an_escape(code: int) -> None:
    character = chr(code)
    text = f"a{character}ü"
    assert not set(plain(text)) & {character}
    assert plain(text)[:2] + plain(text)[-1] == "a\\ü"
    assert json.loads(plain_json(json.dumps(text, ensure_ascii=False))) == text
    assert character not in plain_json(json.dumps(text, ensure_ascii=False))
    for before in ("", "ü"):
        assert plain_csv(before + character) == before + (character if character in STRUCTURE else plain(character))


@pytest.mark.parametrize("text", ["", "plain, text", "Grüße, 中文 🎉 \u200d é", "a\\x1b"])
def test_all_else_stays_as_it_is(text: str) -> None:
    assert plain(text) == plain_json(text) == plain_csv(text) == text


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    content = EVIL.encode()
    record = Record(0, 1000, content, content, (Header(EVIL, content),))
    write_segment(tmp_path / "orders-0", 0, build_batch([record]))
    return tmp_path


def test_cat_prints_the_same_json(logs: Path) -> None:
    found = json.loads(quiet(printed("cat", str(logs))).stdout)
    assert (found["key"], found["value"], found["headers"]) == (EVIL, EVIL, [{"key": EVIL, "value": EVIL}])


def test_cat_prints_csv_with_visible_escapes(logs: Path) -> None:
    _, row = csv.reader(quiet(printed("cat", "--format", "csv", str(logs))).stdout.splitlines())
    assert row[5] == row[6] == plain(EVIL)


def test_raw_values_stay_as_they_are(logs: Path) -> None:
    output = logs.parent / "raw"
    octavo("cat", "--format", "raw", str(logs), "--output", str(output))
    assert output.read_bytes() == EVIL.encode() + b"\n"


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_explain_shows_escapes(logs: Path, flags: tuple[str, ...]) -> None:
    log = next((logs / "orders-0").glob("*.log"))
    shown = quiet(octavo("explain", str(log), "--position", "0", *flags)).stdout
    assert "\\u001b[2J" in shown
    (logs / "orders-0" / "leader-epoch-checkpoint").write_bytes(f"0\n1\n{EVIL}\n".encode())
    quiet(octavo("explain", str(logs / "orders-0" / "leader-epoch-checkpoint"), *flags))


@pytest.mark.parametrize("name", [f"evil{EVIL}-0".encode(), b"\xff\x9b-0", b"line\nbreak-0"], ids=repr)
@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_names_of_folders_and_files(logs: Path, name: bytes, flags: tuple[str, ...]) -> None:
    folder = Path(os.fsdecode(os.fsencode(logs) + b"/" + name))
    (logs / "orders-0").rename(folder)
    (folder / os.fsdecode(name + b".log")).write_bytes(b"x")
    for line in (("verify", *flags), ("topics", *flags), ("cat",)):
        for place in (logs, folder):
            run = quiet(printed(*line, str(place)))
            assert "\nbreak" not in run.stdout + run.stderr
            assert "unexpected" not in run.stderr
    assert quiet(octavo("explain", f"{folder}/{EVIL}")).exit == 1
    assert quiet(octavo("lookup", str(logs), "--topic", EVIL, "--partition", "0", "--offset", "0")).exit == 1
