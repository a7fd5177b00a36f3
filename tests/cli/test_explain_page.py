"""`octavo explain`: folders, pages of HTML, colours, and layouts for narrow terminals."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from octavo.cli.explain.show import show_page
from octavo.format.anatomy import Node
from octavo.format.names import OWN_STORES
from tests.cli.runs import octavo
from tests.cli.terminal import octavo_on_terminal
from tests.golden.archives import unpack

LOG = f"{0:020}.log"


class Page(HTMLParser):
    """Reads a page: what is said about each field, its bytes, and whether all tags are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fields: list[dict[str, str]] = []
        self.bytes: list[str] = []
        self.links: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.links += [value for name, value in attrs if name in ("src", "href") and value]
        if tag != "meta":
            self._open.append(tag)
        if about := given.get("data-about"):
            self.fields.append(json.loads(about))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "span":
            self.bytes.append(data)


def page(*arguments: str) -> Page:
    run = octavo("explain", *arguments, "--html")
    assert (run.exit, run.stderr) == (0, "")
    return Page(run.stdout)


def test_a_page_has_every_byte_and_what_it_means() -> None:
    file = unpack("v431-clean") / "txn.input-0" / LOG
    found = page(str(file))
    assert bytes.fromhex("".join(found.bytes)) == file.read_bytes()
    assert found.links == []
    magic = next(field for field in found.fields if field["field"] == "batch › magic")
    assert (magic["position"], magic["value"], magic["meaning"]) == ("16, 1 byte", "2", "format v2")
    attributes = next(field for field in found.fields if field["field"] == "batch › attributes")
    assert attributes["compression"] == "0: bits 0-2: none"


def test_a_compressed_batch_shows_its_records_too() -> None:
    found = page(str(unpack("v431-clean") / "codec.zstd-0" / LOG), "--position", "0")
    assert any("decompressed › record 0 › key" in field["field"] for field in found.fields)


@pytest.mark.parametrize("name", ["codec.none-0/00000000000000000000.index", "meta.properties"])
def test_other_files_have_pages_too(name: str) -> None:
    assert page(str(unpack("v431-clean") / name)).fields


def test_a_large_file_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    show_page("t<", (Node("entry", at, b"\x00", 0, "m") for at in range(1000)))
    out = capsys.readouterr().out
    assert out.count("data-about") == 200
    assert "Only the first 200 batches or entries are shown" in out
    assert "<title>t&lt;</title>" in out


def test_a_folder_lists_its_files(tmp_path: Path) -> None:
    run = octavo("explain", str(unpack("v431-clean") / "keyed.4p-0"))
    assert run.exit == 0
    assert f"{LOG}         1950  a segment: the batches from offset 0 on\n" in run.stdout
    assert "leader-epoch-checkpoint            13  which leader epoch began at which offset\n" in run.stdout
    assert run.stderr.endswith(f"next: octavo explain {unpack('v431-clean')}/keyed.4p-0/{LOG}\n")
    names = {
        json.loads(line)["name"] for line in octavo("explain", str(unpack("v431-clean")), "--json").stdout.splitlines()
    }
    assert {"keyed.4p-0", "meta.properties"} <= names
    assert octavo("explain", str(tmp_path), "--html").exit == 2


def test_a_folder_explains_all_files_of_octavo_itself(tmp_path: Path) -> None:
    for name in OWN_STORES:
        (tmp_path / name).touch()
    rows = [json.loads(line) for line in octavo("explain", str(tmp_path), "--json").stdout.splitlines()]
    assert {row["name"] for row in rows if row["meaning"]} == OWN_STORES


def test_properties_are_shown_with_their_keys() -> None:
    assert "  node.id  1  the node to which" in octavo("explain", str(unpack("v431-clean") / "meta.properties")).stdout


def test_bits_are_printed_once() -> None:
    lines = octavo("explain", str(unpack("v431-clean") / "codec.zstd-0" / LOG), "--position", "0").stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if " attributes " in line)
    assert lines[at].split()[1:4] == ["0004", "attributes", "0000000000000100"]
    assert lines[at + 1].split()[:2] == ["compression", "4"]


def test_colours_by_level_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("explain", str(unpack("v431-clean") / "keyed.4p-0" / LOG), "--offset", "0")
    assert "\x1b" not in octavo(*arguments).stdout
    shown = octavo_on_terminal(140, *arguments)
    assert len(set(re.findall("\x1b\\[3[0-9]m", shown))) >= 3
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in octavo_on_terminal(140, *arguments)


def test_a_narrow_terminal_shows_the_meaning_on_the_line_of_its_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    lines = octavo_on_terminal(
        80, "explain", str(unpack("v431-clean") / "keyed.4p-0" / LOG), "--offset", "0"
    ).splitlines()
    assert max(map(len, lines)) <= 80
    assert any("magic" in line and line.endswith("format v2") for line in lines)
