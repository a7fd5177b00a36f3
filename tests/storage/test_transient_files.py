"""What loading does with files of swaps and deletions that a crash interrupted."""

from __future__ import annotations

from pathlib import Path

from octavo.format.names import FileKind, SegmentFile
from octavo.storage.recovery.transient_files import settle_transient_files
from octavo.system.filesystem import LocalFileSystem


def name(base_offset: int, suffix: str) -> str:
    return SegmentFile(base_offset, FileKind.LOG).name.removesuffix(".log") + suffix


def settle(
    folder: Path, *names: str, next_offsets: dict[int, int] | None = None, remove_deleted: bool = True
) -> list[str]:
    for each in names:
        (folder / each).write_bytes(b"")
    settle_transient_files(LocalFileSystem(), folder, (next_offsets or {}).__getitem__, remove_deleted=remove_deleted)
    return sorted(path.name for path in folder.iterdir())


def test_deleted_files_are_removed_except_those_of_the_metadata_log(tmp_path: Path) -> None:
    kept = "00000000000000000007-0000000001.checkpoint.deleted"
    left = settle(tmp_path, name(0, ".log"), name(0, ".log.deleted"), name(5, ".snapshot.deleted"), kept)
    assert left == sorted([name(0, ".log"), kept])


def test_deleted_files_stay_unless_their_removal_is_wanted(tmp_path: Path) -> None:
    names = [name(0, ".log"), name(5, ".log.deleted"), name(5, ".index.deleted")]
    assert settle(tmp_path, *names, remove_deleted=False) == sorted(names)


def test_unfinished_cleaning_is_removed(tmp_path: Path) -> None:
    left = settle(tmp_path, name(0, ".log"), name(0, ".log.cleaned"), name(0, ".index.cleaned"))
    assert left == [name(0, ".log")]


def test_swap_that_was_not_decided_is_removed(tmp_path: Path) -> None:
    left = settle(tmp_path, name(0, ".log"), name(0, ".log.cleaned"), name(9, ".log.swap"), name(9, ".index.swap"))
    assert left == [name(0, ".log")]


def test_decided_swap_is_finished(tmp_path: Path) -> None:
    old = [name(base, suffix) for base in (0, 10, 20) for suffix in (".log", ".index", ".snapshot")]
    left = settle(tmp_path, *old, name(0, ".log.swap"), name(0, ".index.swap"), next_offsets={0: 20})
    assert left == sorted([name(0, ".log"), name(0, ".index"), *old[6:]])


def test_swap_of_several_segments_covers_all_between(tmp_path: Path) -> None:
    swaps = [name(0, ".log.swap"), name(15, ".log.swap")]
    left = settle(tmp_path, name(0, ".log"), name(40, ".log"), *swaps, next_offsets={0: 15, 15: 40})
    assert left == [name(0, ".log"), name(15, ".log"), name(40, ".log")]


def test_rest_of_a_swap_is_renamed(tmp_path: Path) -> None:
    assert settle(tmp_path, name(0, ".log"), name(0, ".timeindex.swap")) == [name(0, ".log"), name(0, ".timeindex")]


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    others = ["leader-epoch-checkpoint", "partition.metadata", "staged.octavo", "no-dot"]
    assert settle(tmp_path, *others, name(0, ".log.swap"), next_offsets={0: 5}) == sorted([name(0, ".log"), *others])
