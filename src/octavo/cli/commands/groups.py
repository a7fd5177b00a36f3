"""`octavo groups`: what groups have committed, and how far behind they are."""

from __future__ import annotations

from collections.abc import Iterator

import click

from octavo.cli.options import command as declare
from octavo.cli.options import json_option, logdirs_argument, print_json, say_notes, unpacked_option
from octavo.cli.table import TableColumn, iso_time, print_table
from octavo.jobs.describe.groups import CommittedOffset, DescribedGroups, GroupDescription, MemberDescription

_COLUMNS = (
    TableColumn("group"),
    TableColumn("type", importance=5),
    TableColumn("state", importance=6),
    TableColumn("topic"),
    TableColumn("partition", right=True),
    TableColumn("offset", right=True),
    TableColumn("logEnd", right=True),
    TableColumn("lag", right=True),
    TableColumn("committed", importance=4),
    TableColumn("client", importance=3),
    TableColumn("host", importance=2),
    TableColumn("metadata", importance=1),
)


@declare("groups")
@logdirs_argument
@click.option("--group", "groups", multiple=True, metavar="G", help="A group; may be repeated. Default: all.")
@json_option
@unpacked_option
def command(logdirs: tuple[str, ...], groups: tuple[str, ...], as_json: bool) -> int:
    """Show the groups of LOGDIR: what each has committed, where the logs end, and the lag between the two.

    Everything comes from the files, __consumer_offsets and the ends of the logs, without a lock, even while a broker
    runs on them. A partition that is not on these disks has no end and no lag. --json also has members and generations.
    """
    found = DescribedGroups(logdirs, groups)
    say_notes(found.notes)
    if as_json:
        for group in found.groups:
            print_json(_fields(group))
    else:
        print_table(_COLUMNS, [row for group in found.groups for row in _rows(group)])
    return 1 if found.damage_count else 0


def _fields(group: GroupDescription) -> dict[str, object]:
    return {
        "group": group.group,
        "type": group.type,
        "state": group.state,
        "protocolType": group.protocol_type,
        "protocol": group.protocol,
        "generation": group.generation,
        "leader": group.leader,
        "members": [_member_fields(member) for member in group.members],
        "offsets": [_offset_fields(offset) for offset in group.offsets],
    }


def _member_fields(member: MemberDescription) -> dict[str, object]:
    return {
        "memberId": member.member_id,
        "instanceId": member.instance_id,
        "clientId": member.client_id,
        "host": member.host,
        "assignment": list(member.assignment),
    }


def _offset_fields(committed: CommittedOffset) -> dict[str, object]:
    return {
        **committed.topic_partition._asdict(),
        "committedOffset": committed.offset,
        "logEndOffset": committed.log_end_offset,
        "lag": committed.lag,
        "leaderEpoch": committed.leader_epoch,
        "metadata": committed.metadata,
        "commitTimestamp": committed.commit_timestamp,
    }


def _rows(group: GroupDescription) -> Iterator[tuple[object, ...]]:
    """One row per committed offset; a group without any has one row, too."""
    owners = {partition: member for member in group.members for partition in member.assignment}
    start = group.group, group.type, group.state
    for committed in group.offsets:
        owner = owners.get(str(committed.topic_partition))
        yield (
            *start,
            *committed.topic_partition,
            committed.offset,
            committed.log_end_offset,
            committed.lag,
            iso_time(committed.commit_timestamp),
            owner and owner.client_id,
            owner and owner.host,
            committed.metadata or None,
        )
    if not group.offsets:
        yield *start, *[None] * (len(_COLUMNS) - len(start))
