"""Log directories verified together, as the disks of a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.jobs.verify.finding import FindingKind, Severity
from octavo.jobs.verify.plan import plan
from tests.jobs.verify.verified import findings_of, shown
from tests.scanner.segments import write_segment
from tests.storage.batches import batch

ID_A, ID_B, ID_C = "lRfNxyBxRLu7tt5Z0UBPpQ", "7Y7zFrqCT2Olx-x8XhXveg", "kWHfbQWrRQ2ZqjI1p2rGLA"


def write_disk(place: Path, *, node: int = 1, cluster: str = ID_A, directory: str | None = None) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    lines = [f"cluster.id={cluster}", f"node.id={node}", "version=1"]
    lines += [f"directory.id={directory}"] if directory is not None else []
    (place / "meta.properties").write_text("\n".join(["#", *lines, ""]))
    return place


def write_partition(disk: Path, name: str, topic_id: str = ID_A) -> None:
    write_segment(disk / name, 0, batch(0))
    (disk / name / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")


def found(*places: Path) -> list[tuple[str, FindingKind]]:
    return [(str(Path(line.path).relative_to(places[0].parent)), line.problem) for line in findings_of(*places)]


def test_replicas_on_several_nodes_are_sound(tmp_path: Path) -> None:
    disks = [write_disk(tmp_path / f"d{node}", node=node, directory=name) for node, name in ((1, ID_A), (2, ID_B))]
    for disk in disks:
        write_partition(disk, "orders-0")
    assert found(*disks) == []


def test_a_partition_twice_on_one_nodes_disks_is_found(tmp_path: Path) -> None:
    disks = [write_disk(tmp_path / name) for name in ("a", "b")]
    for disk in disks:
        write_partition(disk, "orders-0")
    assert found(*disks) == [("a/orders-0", FindingKind.DIRECTORY_ID), ("b/orders-0", FindingKind.DIRECTORY_ID)]


def test_one_directory_under_several_names_is_verified_once(tmp_path: Path) -> None:
    disk = write_disk(tmp_path / "a", directory=ID_A)
    write_partition(disk, "orders-0")
    link = tmp_path / "link"
    link.symlink_to(disk)
    plans = plan([disk, link, disk / ".." / "a", f"{disk}/"])
    assert [str(directory.location) for directory in plans] == [str(disk)]


@pytest.mark.parametrize("suffix", ["-delete", "-future", "-stray"])
def test_a_partition_that_moves_from_disk_to_disk_may_be_on_both(tmp_path: Path, suffix: str) -> None:
    disks = [write_disk(tmp_path / name) for name in ("a", "b")]
    write_partition(disks[0], "orders-0")
    write_partition(disks[1], f"orders-0.{'0' * 32}{suffix}")
    assert FindingKind.DIRECTORY_ID not in {problem for _, problem in found(*disks)}


def test_a_disk_of_another_cluster_is_found(tmp_path: Path) -> None:
    disks = [
        write_disk(tmp_path / name, cluster=cluster) for name, cluster in zip("abc", (ID_A, ID_B, ID_A), strict=True)
    ]
    assert found(*disks) == [("b/meta.properties", FindingKind.DIRECTORY_ID)]


def test_a_directory_id_of_two_disks_is_found(tmp_path: Path) -> None:
    disks = [
        write_disk(tmp_path / name, directory=directory)
        for name, directory in zip("abc", (ID_A, ID_B, ID_A), strict=True)
    ]
    assert found(*disks) == [(f"{name}/meta.properties", FindingKind.DIRECTORY_ID) for name in "ac"]


def test_a_directory_id_that_kafka_reserves_is_found(tmp_path: Path) -> None:
    assert found(write_disk(tmp_path / "a", directory="AAAAAAAAAAAAAAAAAAAAYw")) == [
        ("a/meta.properties", FindingKind.DIRECTORY_ID)
    ]


def test_another_topic_id_on_one_of_several_disks_is_found(tmp_path: Path) -> None:
    disks = [write_disk(tmp_path / name) for name in "abc"]
    for partition, (disk, topic_id) in enumerate(zip(disks, (ID_A, ID_B, ID_A), strict=True)):
        write_partition(disk, f"orders-{partition}", topic_id)
    assert found(*disks) == [("b/orders-1/partition.metadata", FindingKind.TOPIC_ID)]


def test_a_node_that_was_away_while_a_topic_was_created_again_may_have_the_old_id(tmp_path: Path) -> None:
    disks = [write_disk(tmp_path / f"d{node}", node=node) for node in (1, 2, 3)]
    for disk, topic_id in zip(disks, (ID_A, ID_B, ID_A), strict=True):
        write_partition(disk, "orders-0", topic_id)
    name = "partition.metadata"
    assert shown(findings_of(*disks)) == [(name, None, FindingKind.TOPIC_ID, Severity.INFO)]
    write_partition(disks[1], "orders-1", ID_A)  # node 2 has the right id for it, so it was not away
    assert shown(findings_of(*disks)) == [(name, None, FindingKind.TOPIC_ID, Severity.PROBLEM)] * 2


def test_a_stray_folder_may_be_of_an_older_topic(tmp_path: Path) -> None:
    disk = write_disk(tmp_path / "a")
    write_partition(disk, "orders-0")
    write_partition(disk, f"orders-1.{'0' * 32}-stray", ID_C)
    assert FindingKind.TOPIC_ID not in {problem for _, problem in found(disk)}


@pytest.mark.parametrize("content", [b"", b"#\n# Mon\n", b"\x00\x8f\x12garbage", b"version=0\nbroker.id=1\n\x00\x00"])
def test_damaged_meta_properties_are_found(tmp_path: Path, content: bytes) -> None:
    (write_disk(tmp_path / "a") / "meta.properties").write_bytes(content)
    assert found(tmp_path / "a") == [("a/meta.properties", FindingKind.DAMAGED_FILE)]
