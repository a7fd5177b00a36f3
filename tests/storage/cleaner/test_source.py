"""A segment's batches as a run reads them: the same with or without a copy; an error names the place of the damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.errors import CorruptRecordError
from octavo.storage.rewriting import source
from octavo.storage.rewriting.source import read_chunks, view_chunks
from octavo.system.filesystem import LocalFileSystem
from tests.storage.batches import batch

FILES = LocalFileSystem()


def rows(path: Path, *, copied: bool, position: int = 0) -> list[tuple[int, int, int]]:
    """Base offset, place in the file and size of each batch."""
    chunks = (read_chunks if copied else view_chunks)(FILES, path, path.stat().st_size, position)
    return [
        (int(row["base_offset"]), chunk.file_position + int(row["position"]), int(row["size"]))
        for chunk in chunks
        for row in chunk.table
    ]


@pytest.mark.parametrize("window", [4096, 8192, 1 << 25])
@pytest.mark.parametrize("table_rows", [1, 3, 100])
def test_both_ways_give_the_same_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int, table_rows: int
) -> None:
    monkeypatch.setattr(source, "_WINDOW_BYTES", window)
    monkeypatch.setattr(source, "_WINDOW_ROWS", table_rows)
    path = tmp_path / "00000000000000000000.log"
    sizes = [10, 300, 20_000, 5, 4096, 7, 9000, 1] * 3
    path.write_bytes(b"".join(batch(number, value_bytes=size) for number, size in enumerate(sizes)))
    expected = rows(path, copied=True)
    assert [base for base, _, _ in expected] == list(range(24))
    assert rows(path, copied=False) == expected
    for _, position, _ in expected[::5]:
        assert rows(path, copied=False, position=position) == [row for row in expected if row[1] >= position]
    path.write_bytes(b"")
    assert rows(path, copied=False) == rows(path, copied=True) == []


@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize("tail", [b"\0" * 40, b"torn", batch(5)[:-3]], ids=["zeros", "a few bytes", "a torn batch"])
def test_what_is_not_a_batch_is_refused_with_its_place(tmp_path: Path, copied: bool, tail: bytes) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(0) + tail)
    with pytest.raises(CorruptRecordError) as caught:
        rows(path, copied=copied)
    assert (caught.value.position, caught.value.path) == (len(batch(0)), str(path))
