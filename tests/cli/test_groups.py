"""`octavo groups`: committed offsets, lag and members, from the files of real brokers and of our own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import octavo as library
from octavo.format.names import LOG_START_OFFSET_CHECKPOINT, TopicPartition
from octavo.jobs.describe.groups import DescribedGroups
from tests.cli.owners import locked, rows, state
from tests.cli.runs import octavo
from tests.cli.terminal import octavo_on_terminal
from tests.golden.archives import unpack
from tests.scanner.refusals import unlisted


def test_what_groups_of_a_broker_have_committed() -> None:
    found = {row["group"]: row for row in rows(octavo("groups", str(unpack("v431-clean")), "--json"))}
    assert {name: (row["type"], row["state"]) for name, row in found.items()} == {
        "admin-group": ("simple", "Empty"),
        "classic-group": ("classic", "Empty"),
        "classic-static": ("classic", "Empty"),
        "next.gen-group": ("consumer", "Empty"),
        "share-group": ("share", "Empty"),
        "txn-group": ("simple", "Empty"),
    }
    assert found["classic-group"]["offsets"] == [
        {"topic": "edge.records", "partition": 0, "committedOffset": 98, "logEndOffset": 98, "lag": 0,
         "leaderEpoch": -1, "metadata": "classic-group meta", "commitTimestamp": 1794776458041},
        {"topic": "idem-potent", "partition": 0, "committedOffset": 2, "logEndOffset": 274, "lag": 272,
         "leaderEpoch": -1, "metadata": "classic-group meta", "commitTimestamp": 1794776458041},
    ]  # fmt: skip


def test_the_members_that_were_there_when_the_log_ended(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    shutil.copytree(unpack("v431-clean"), root)
    cut = octavo("truncate", str(root), "--topic", "__consumer_offsets", "--partition", "0", "--offset", "22")
    assert cut.exit == 0
    chosen = octavo("groups", str(root), "--group", "classic-static", "--group", "next.gen-group", "--json")
    classic, newer = rows(chosen)
    assert (classic["state"], classic["protocol"], classic["generation"]) == ("Stable", "range", 1)
    (member,) = classic["members"]
    assert member["memberId"] == classic["leader"]
    assert (member["instanceId"], member["clientId"]) == ("inst-1", "classic-static-client")
    assert member["assignment"] == [f"keyed.4p-{number}" for number in range(4)]
    assert (newer["state"], newer["generation"]) == ("Stable", 2)
    # The newer protocol stores ids; the names come from the topics on disk.
    assert newer["members"][0]["assignment"] == [*(f"keyed.4p-{number}" for number in range(4)), "idem-potent-0"]


def test_old_brokers_have_groups_too() -> None:
    (row,) = rows(octavo("groups", str(unpack("v282")), "--json"))
    assert (row["group"], row["offsets"][0]["committedOffset"]) == ("old-group", 183)


def test_a_table_for_people() -> None:
    lines = octavo("groups", str(unpack("v431-killed"))).stdout.splitlines()
    assert lines[0].split() == [
        "group", "type", "state", "topic", "partition", "offset", "logEnd", "lag", "committed", "client", "host",
        "metadata",
    ]  # fmt: skip
    assert lines[1].split()[:8] == ["crash-group", "classic", "Empty", "crash.plain", "0", "213", "271", "58"]
    on_terminal = octavo_on_terminal(80, "groups", str(unpack("v431-clean"))).splitlines()
    assert max(map(len, on_terminal)) <= 80
    assert "lag" in on_terminal[0]


def test_offsets_of_an_open_transaction_do_not_count_but_those_after_it_do(tmp_path: Path) -> None:
    with library.LogDir(tmp_path, configs={"offsets.topic.num.partitions": 1}) as logs:
        logs.create_topic("t")
        with logs.producer(transactional_id="tx") as producer:
            producer.begin_transaction()
            producer.send_offsets_to_transaction({TopicPartition("t", 0): 7}, "in-transaction")
            consumer = logs.consumer("t", group="plain")
            consumer.poll()
            consumer.commit({TopicPartition("t", 0): 3})
            producer.flush()
            assert [group.group for group in DescribedGroups(tmp_path).groups] == ["plain"]
            producer.commit_transaction()
        assert [group.group for group in DescribedGroups(tmp_path).groups] == ["in-transaction", "plain"]


def test_a_partition_that_is_elsewhere_has_no_lag(tmp_path: Path) -> None:
    for folder in unpack("v431-killed").glob("__consumer_offsets-*"):
        shutil.copytree(folder, tmp_path / folder.name)
    (row,) = rows(octavo("groups", str(tmp_path), "--json"))
    assert (row["offsets"][0]["logEndOffset"], row["offsets"][0]["lag"]) == (None, None)


def test_nothing_is_locked_or_changed(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    shutil.copytree(unpack("v431-killed"), root)
    with locked(root):
        before = state(root)
        assert octavo("groups", str(root)).exit == 0
        assert octavo("describe", str(root)).exit == 0
        assert state(root) == before


def test_an_unknown_group_and_a_directory_without_groups() -> None:
    place = unpack("v431-killed")
    run = octavo("groups", str(place), "--group", "crash-grup")
    assert (run.exit, run.stderr) == (
        1,
        f"octavo: {place}: there is no group 'crash-grup' (did you mean crash-group?)\n",
    )
    other = octavo("groups", str(place), "--group", "zzz")
    assert other.stderr == f"octavo: {place}: there is no group 'zzz'; `octavo groups LOGDIR` lists them\n"
    bare = octavo("groups", str(unpack("seed-004-log-format")))
    assert bare.exit == 1
    assert "there is no topic __consumer_offsets" in bare.stderr


def test_a_folder_of_another_topic_is_not_read_for_groups() -> None:
    run = octavo("groups", str(unpack("v431-killed") / "crash.plain-0"))
    assert run.exit == 1
    assert "there is no topic __consumer_offsets" in run.stderr


def test_a_damaged_checkpoint_is_reported_once(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    shutil.copytree(unpack("v431-clean"), root)
    (root / LOG_START_OFFSET_CHECKPOINT).write_bytes(b"no checkpoint")
    run = octavo("groups", str(root), "--json")
    assert (run.exit, run.stdout.count("\n")) == (1, 6)
    assert run.stderr.count(LOG_START_OFFSET_CHECKPOINT) == run.stderr.count("\n") == 1


def test_a_partition_that_cannot_be_listed_has_no_end_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "logs"
    shutil.copytree(unpack("v431-clean"), root)
    unlisted(monkeypatch, "idem-potent-0")
    found = DescribedGroups(root, ["classic-group"])
    ends = {offset.topic_partition: offset.log_end_offset for offset in found.groups[0].offsets}
    assert ends == {TopicPartition("edge.records", 0): 98, TopicPartition("idem-potent", 0): None}
    (note,) = found.notes
    assert note.path.endswith("/idem-potent-0") and "Permission denied" in note.sentence
    assert found.damage_count == 1


def test_offsets_that_cannot_be_listed_are_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "logs"
    shutil.copytree(unpack("v431-clean"), root)
    folders = sorted(path.name for path in root.glob("__consumer_offsets-*"))
    unlisted(monkeypatch, *folders)
    run = octavo("groups", str(root))
    assert (run.exit, run.stdout) == (1, "")
    assert run.stderr == f"octavo: {root / folders[0]}: Permission denied; run as the broker's user\n"


def test_a_group_may_be_in_offsets_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with library.LogDir(tmp_path, configs={"offsets.topic.num.partitions": 2}) as logs:
        logs.create_topic("t", 1)
        for group in ("a", "b"):
            with logs.producer(transactional_id=group) as producer, producer.transaction():
                producer.send_offsets_to_transaction({TopicPartition("t", 0): 0}, group)
    unlisted(monkeypatch, "__consumer_offsets-0")
    assert [found.group for found in DescribedGroups(tmp_path).groups] == ["a"]
    run = octavo("groups", str(tmp_path), "--group", "b")
    where = f"{tmp_path}: group 'b' is not in what can be read of __consumer_offsets"
    reason = f"{tmp_path}/__consumer_offsets-0: Permission denied; run as the broker's user"
    assert (run.exit, run.stderr) == (1, f"octavo: {where}: {reason}\n")
