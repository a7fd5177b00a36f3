"""The layout that the compiled kernels repeat in C is the same as in layout.py."""

from __future__ import annotations

import re
from enum import IntEnum, IntFlag
from pathlib import Path
from struct import calcsize

import numpy as np
import pytest

import octavo.kernels
from octavo.kernels import columns, layout, producers
from octavo.kernels.layout import BATCH, Code

FOLDER = Path(octavo.kernels.__file__).parent / "compiled"
C_TYPES = {"int64_t": "<i8", "int32_t": "<i4", "uint32_t": "<u4", "int16_t": "<i2", "uint16_t": "<u2"}
C_TYPES |= {"int8_t": "|i1", "uint8_t": "|u1"}
ENUMS = [value for value in vars(layout).values() if isinstance(value, type) and issubclass(value, IntEnum | IntFlag)]
ENUMS = [enum for enum in ENUMS if enum.__module__ == layout.__name__]


def blocks(name: str) -> list[tuple[str, list[str]]]:
    """Each `cdef` block of a .pxd: its first line and the lines under it, without comments."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip("the kernels' sources are not beside the package")
    found: list[tuple[str, list[str]]] = []
    for line in path.read_text().splitlines():
        line = re.sub(r"\s*#.*", "", line)
        if line and not line[0].isspace():
            found.append((line, []))
        elif line and found:
            found[-1][1].append(line.strip())
    return found


def members(lines: list[str]) -> dict[str, int]:
    pairs = (line.split(" = ") for line in lines)
    return {name: int(value, 0) for name, value in pairs}


def positions(fields: dict[str, str]) -> dict[str, int]:
    """Where each field begins, by its name in capitals."""
    forms = list(fields.values())
    names = (re.sub("([A-Z])", r"_\1", name).upper() for name in fields)
    return {name: calcsize(">" + "".join(forms[:slot])) for slot, name in enumerate(names)}


def test_the_row_of_the_batch_table_is_the_struct() -> None:
    struct = dict(blocks("layout.pxd"))["cdef struct Batch:"]
    fields = [(name, C_TYPES[kind]) for kind, name in (line.split() for line in struct)]
    assert fields == [(name, BATCH[name].str) for name in BATCH.names or ()]


def test_the_struct_needs_no_padding() -> None:
    """Widest fields first, with a filler at the end: C lays out the struct like numpy, without holes."""
    widths = [BATCH[name].itemsize for name in BATCH.names or ()]
    assert widths == sorted(widths[:-1], reverse=True) + widths[-1:]
    assert sum(widths) == BATCH.itemsize and BATCH.itemsize % 8 == 0
    assert all(offset % BATCH[name].itemsize == 0 for name, (_, offset, *_) in (BATCH.fields or {}).items())


@pytest.mark.parametrize("enum", ENUMS, ids=lambda enum: enum.__name__)
def test_codes_are_the_same(enum: type[IntEnum | IntFlag]) -> None:
    in_c = members(dict(blocks("layout.pxd"))[f"cdef enum {enum.__name__}:"])
    assert in_c == {member.name: member.value for member in enum if member.name in enum.__members__}


def test_no_enum_is_in_c_alone() -> None:
    named = {first[len("cdef enum ") : -1] for first, _ in blocks("layout.pxd") if first.startswith("cdef enum ")}
    assert named == {enum.__name__ for enum in ENUMS}


def test_constants_are_the_same() -> None:
    in_c = members(dict(blocks("layout.pxd"))["cdef enum:"])
    assert in_c.items() <= vars(layout).items()
    assert members(dict(blocks("arrays.pxd"))["cdef enum:"]) == {"MAX_COLUMN_BYTES": columns.MAX_COLUMN_BYTES}


def test_positions_follow_from_the_formats() -> None:
    assert layout.LOG_OVERHEAD == 12 and layout.BATCH_OVERHEAD == 61
    assert layout.MESSAGE_V0.size == 18 and layout.MESSAGE_V1.size == 26
    fields = {f"{name}_POSITION": position for name, position in positions(layout.BATCH_FIELDS).items()}
    fields |= {f"MESSAGE_{name}_POSITION": position for name, position in positions(layout.MESSAGE_V1_FIELDS).items()}
    named = {name: value for name, value in vars(layout).items() if name.endswith("_POSITION")}
    assert named.pop("SIZE_POSITION") == fields["BATCH_LENGTH_POSITION"] == fields["MESSAGE_SIZE_POSITION"]
    assert len(named) > 10 and named.items() <= fields.items()


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("CachedBatch", producers.CACHED_BATCH),
        ("Producer", producers.PRODUCER),
        ("Ongoing", producers.ONGOING),
        ("Marker", producers.MARKER),
    ],
)
def test_the_rows_of_producers_are_the_structs(name: str, dtype: np.dtype[np.void]) -> None:
    struct = dict(blocks("producers.pxd"))[f"cdef struct {name}:"]
    fields = {field.partition("[")[0]: kind for kind, field in (line.split() for line in struct)}
    assert fields.pop("batches", "CachedBatch") == "CachedBatch"
    scalars = [field for field in dtype.names or () if field != "batches"]
    assert [(field, C_TYPES[kind]) for field, kind in fields.items()] == [
        (field, dtype[field].str) for field in scalars
    ]
    assert all(offset % min(kind.base.itemsize, 8) == 0 for kind, offset, *_ in (dtype.fields or {}).values())
    assert dtype.itemsize % 8 == 0 and dtype.itemsize == sum(dtype[field].itemsize for field in dtype.names or ())


def test_numbers_of_producers_are_the_same() -> None:
    found = dict(blocks("producers.pxd"))
    assert members(found["cdef enum:"]) == {"CACHED_BATCHES": producers.CACHED_BATCHES, "NONE": producers.NONE}
    in_c = members(found["cdef enum Replayed:"]) | {"DONE": Code.DONE, "FULL": Code.FULL}
    assert in_c == dict(producers.Replayed.__members__)
    assert "CachedBatch batches[5]" in found["cdef struct Producer:"]
