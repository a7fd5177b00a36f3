"""Batches of real brokers appended again, one append per batch: rolls and indexes are the same as the brokers'."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.config import LogConfig
from octavo.format.batches.walker import walk
from octavo.format.indexes.offset_index import OffsetIndex
from octavo.format.names import FileKind
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recovery.load import LoadRequest
from tests.golden.archives import entry, unpack
from tests.storage.worlds import World


def whole_topics(archive: str) -> list[str]:
    """The topics that still have their first segments, without internal and deleted ones."""
    made = entry(archive)
    begins = {
        topic: offsets["read_uncommitted"]["begin"].values() for topic, offsets in made.get("offsets", {}).items()
    }
    return [
        topic
        for topic, how in sorted(made["topics"].items())
        if not topic.startswith("__") and not how.get("deleted") and not any(begins.get(topic, ()))
    ]


TOPICS = [(archive, topic) for archive in ("v431-clean", "v392") for topic in whole_topics(archive)]


def copy(source: Path, target: Path, config: dict[str, str]) -> PartitionLog:
    data = b"".join(log.read_bytes() for log in sorted(source.glob("*.log")))
    configs = LogConfig.of({**config, "retention.ms": "-1"})
    log = PartitionLog(LoadRequest(folder=target, config=configs, environment=World().environment, clean=True))
    for row in walk(data).table:
        log.append_as_follower(data[row["position"] : row["position"] + row["size"]])
    log.close()
    return log


def content(path: Path) -> bytes | None:
    """A file's bytes; an empty transaction index counts as a missing one."""
    return (
        None
        if not path.exists() or (path.suffix == FileKind.TXN_INDEX and not path.stat().st_size)
        else path.read_bytes()
    )


def entries(path: Path) -> OffsetIndex:
    return OffsetIndex.decode(path.read_bytes(), int(path.stem))


@pytest.mark.parametrize(("archive", "topic"), TOPICS)
def test_copy_has_kafkas_segments_and_indexes(archive: str, topic: str, tmp_path: Path) -> None:
    root = unpack(archive)
    folders = [folder for folder in sorted(root.glob(f"{topic}-[0-9]*")) if folder.name.rpartition("-")[0] == topic]
    assert folders
    for folder in folders:
        copy(folder, tmp_path / folder.name, entry(archive)["topics"][topic]["config"])
        logs = sorted(folder.glob("*.log"))
        assert [path.name for path in sorted((tmp_path / folder.name).glob("*.log"))] == [path.name for path in logs]
        for path in logs:
            kinds = [FileKind.LOG]
            if len(set(walk(path.read_bytes()).table["partition_leader_epoch"].tolist())) == 1:
                # A restart counts the bytes since the last index entry from zero again; epochs show restarts.
                kinds += [FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX]
            for kind in kinds:
                name = path.with_suffix(kind).name
                assert content(tmp_path / folder.name / name) == content(folder / name), f"{folder.name}/{name}"


# I8: segment.bytes = 5120 splits at 93 and 184; index 0 holds 80 → 4384, index 93 is empty
def test_a_copy_of_the_published_experiment_splits_at_the_same_offsets(tmp_path: Path) -> None:
    folder = unpack("seed-004-log-format") / "log-format-1"
    log = copy(folder, tmp_path / folder.name, {"segment.bytes": "5120"})
    assert log.segments.base_offsets == (0, 93, 184)
    indexes = [segment.files.offset_index for segment in log.segments]
    # The experiment's broker (1.0) names the first offset of the batch at 4384, today's brokers its last.
    assert [list(map(tuple, entries(index.path))) for index in indexes] == [[(92, 4384)], [], []]
    assert list(map(tuple, entries(folder / "00000000000000000000.index"))) == [(80, 4384)]
    assert log.segments.first.find_batch(80) == (80, 4384, 659)
    for path in folder.glob("*.log"):
        assert (tmp_path / folder.name / path.name).read_bytes() == path.read_bytes()
    for name in ("00000000000000000000.timeindex", "00000000000000000093.timeindex"):
        assert (tmp_path / folder.name / name).read_bytes() == (folder / name).read_bytes()
