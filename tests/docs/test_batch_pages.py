"""The layout tables of batches and messages are those that the code reads and writes by."""

from __future__ import annotations

import re
from pathlib import Path
from struct import Struct

import pytest

from octavo.format.batches.control import ControlType
from octavo.kernels import layout

FOLDER = Path(__file__).parents[2] / "docs" / "formats"
FIELD = re.compile(r"^\| (\d+) \| (u?int\d+) \| (\w+) \|", re.MULTILINE)
CODES = {"int8": "b", "int16": "h", "int32": "i", "uint32": "I", "int64": "q"}


@pytest.mark.parametrize(
    ("page", "declared"),
    [("record-batch", layout.BATCH_HEADER), ("message-set", layout.MESSAGE_V1)],
)
def test_a_layout_table_is_the_declared_layout(page: str, declared: Struct) -> None:
    fields = FIELD.findall((FOLDER / f"{page}.md").read_text(encoding="utf-8"))
    assert ">" + "".join(CODES[kind] for _, kind, _ in fields) == declared.format
    sizes = [Struct(">" + CODES[kind]).size for _, kind, _ in fields]
    assert [int(position) for position, _, _ in fields] == [sum(sizes[:at]) for at in range(len(sizes))]


def test_positions_are_those_of_the_code() -> None:
    page = (FOLDER / "record-batch.md").read_text(encoding="utf-8")
    positions = {name: int(position) for position, _, name in FIELD.findall(page)}
    assert positions["batch_length"] == layout.SIZE_POSITION
    assert positions["magic"] == layout.MAGIC_POSITION
    assert positions["crc"] == layout.CRC_POSITION
    assert positions["attributes"] == layout.ATTRIBUTES_POSITION


def test_all_control_types_are_listed() -> None:
    page = (FOLDER / "record-batch.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| (\d) \| ([A-Z_]+) \|", page, re.MULTILINE)
    assert shown == [(str(kind.value), kind.name) for kind in sorted(ControlType) if kind is not ControlType.UNKNOWN]
