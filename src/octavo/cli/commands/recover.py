"""`octavo recover`: does what a broker does when it starts after a crash, and then stops cleanly."""

from __future__ import annotations

from pathlib import Path

import click

from octavo.cli.options import command as declare
from octavo.cli.options import echo, json_option, logdirs_argument, many, print_json
from octavo.cli.owner import Ownership, cuts, owned
from octavo.format.names import FolderState, PartitionFolder
from octavo.storage.directory.log_roots import live
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from octavo.storage.staging.sweep import sweep_dead

_UNSERVED = {
    FolderState.FUTURE: "a copy from another log directory that is not complete",
    FolderState.STRAY: "unknown to its cluster",
}


@declare("recover")
@logdirs_argument
@click.option("--dry-run", is_flag=True, help="Show what would be cut, and change nothing; takes no lock.")
@json_option
def command(logdirs: tuple[str, ...], dry_run: bool, as_json: bool) -> int:
    """Bring LOGDIR into the state of a clean stop: cut torn tails, rebuild indexes and producer state.

    Files of unfinished work are settled, segments after the recovery point are checked, and a log is cut at its first
    damaged batch: one line per cut says how much and why. Then the checkpoints and .kafka_cleanshutdown are written.
    After a clean stop only the last segment's end is checked, since brokers trust the mark. Files that a dead writer
    staged a day ago or earlier are removed.

    A partition that cannot be loaded is left as it is and reported on stderr; the others are recovered, and the exit
    code is 1.
    """
    with owned(logdirs, Ownership(dry_run=dry_run, skip_unreadable=True, upkeep=True)) as logs:
        found = [log for _, log in sorted(logs.logs.items())]
        found += sorted(logs.future_and_stray, key=lambda log: log.folder.name)
        for log in found:
            if as_json:
                print_json(_fields(log))
            else:
                _say(log, dry_run=dry_run)
        swept = _sweep(logs)
        if not as_json:
            for path in swept:
                removed = "would be removed" if dry_run else "removed"
                echo(f"{path}: {removed}: it was staged by a writer that died")
            echo(_summary(found, dry_run=dry_run))
        for folder, error in sorted(logs.unreadable.items()):
            echo(f"octavo: {folder}: not recovered: {error}", err=True)
    return 1 if logs.unreadable else 0


def _sweep(logs: LogManager) -> list[Path]:
    """Remove the files of writers that died before the commit; returns them."""
    environment, roots = logs.environment, [root.path for root in live(logs.roots)]
    keep = logs.commits.ledger.pending_files()
    return sweep_dead(environment.filesystem, roots, environment.clock.time_ms(), keep=keep)


def _say(log: PartitionLog, *, dry_run: bool) -> None:
    name = log.folder.name
    for line in cuts(name, log, dry_run=dry_run):
        echo(line)
    state = PartitionFolder.parse(name).state
    if state in _UNSERVED:
        echo(f"{name}: {_UNSERVED[state]}: kept, but no broker serves it")


def _fields(log: PartitionLog) -> dict[str, object]:
    folder = PartitionFolder.parse(log.folder.name)
    return {
        "topic": folder.topic,
        "partition": folder.partition,
        "folder": log.folder.name,
        "logStartOffset": log.log_start_offset,
        "logEndOffset": log.log_end_offset,
        "checkedSegments": len(log.recovered),
        "bytesCut": sum(segment.bytes_cut for segment in log.recovered) + sum(gone.size for gone in log.dropped),
        "cuts": [
            {
                "segment": segment.base_offset,
                "position": segment.size,
                "bytes": segment.bytes_cut,
                "problem": segment.problem,
            }
            for segment in log.recovered
            if segment.bytes_cut
        ],
        "droppedSegments": [
            {"segment": gone.base_offset, "bytes": gone.size, "problem": gone.reason} for gone in log.dropped
        ],
        "deletedFiles": sorted(log.deleted_files),
    }


def _summary(logs: list[PartitionLog], *, dry_run: bool) -> str:
    segments = sum(len(log.recovered) for log in logs)
    lost = [log for log in logs if log.dropped or any(segment.bytes_cut for segment in log.recovered)]
    cut = sum(segment.bytes_cut for log in lost for segment in log.recovered)
    dropped = sum(gone.size for log in lost for gone in log.dropped)
    would = "would be " if dry_run else ""
    checked = f"{many(segments, 'segment')} of {many(len(logs), 'partition')} {would}checked and reindexed"
    return f"{checked}; {cut + dropped} bytes of {many(len(lost), 'partition')} {would}cut"
