"""`octavo recover`: does what a broker does when it starts after a crash, and then stops cleanly."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from octavo.cli.options import command as declare
from octavo.cli.options import echo, json_option, logdirs_argument, many, print_json
from octavo.cli.owner import Ownership, cuts, loss_of, missing_from, owned
from octavo.errors import LogDirError
from octavo.format.names import FolderState, PartitionFolder, Transient
from octavo.jobs.losses import Losses, LostPart
from octavo.storage.directory.log_roots import live
from octavo.storage.log_manager import LogManager
from octavo.storage.partition_log import PartitionLog
from octavo.storage.staging.sweep import sweep_dead
from octavo.system.os_errors import described
from octavo.system.urls import local_path, shown_url

_UNSERVED = {
    FolderState.FUTURE: "an incomplete copy from another log directory",
    FolderState.STRAY: "unknown to its cluster",
}


@declare("recover")
@logdirs_argument
@click.option("--all", "check_all", is_flag=True, help="Check every batch, even if the last stop was clean.")
@click.option("--dry-run", is_flag=True, help="Show what would be cut, and change nothing; takes no lock.")
@json_option
def command(logdirs: tuple[str, ...], check_all: bool, dry_run: bool, as_json: bool) -> int:
    """Recover LOGDIR after a crash, as a broker does: cut torn tails, rebuild indexes and producer state.

    Unfinished file operations are completed or undone, and files that are marked .deleted are removed. Segments after
    the recovery point are checked, and a log is cut at its first damaged batch: one line per cut says what is lost and
    why. If a log ends below its recovery point, a line says which flushed offsets are missing. Then the checkpoints and
    .kafka_cleanshutdown are written. After a clean stop only the last segment's end is checked, since brokers trust
    that file; --all checks everything. Files that a dead writer staged more than a day ago are removed.

    Recovery keeps nothing that follows a damaged batch, but `octavo copy LOGDIR NEW` does: run --dry-run first.

    A partition that cannot be loaded keeps its records and is reported on stderr; the others are recovered, and the
    exit code is 1.
    """
    for url in [place for place in logdirs if dry_run and local_path(place) is None]:
        problem = "a dry run needs local files; to see what is damaged at a URL, use `octavo verify URL`"
        raise LogDirError(f"{shown_url(url)}: {problem}")
    ownership = Ownership(dry_run=dry_run, skip_unreadable=True, upkeep=True, check_all=check_all)
    losses = ownership.losses
    with owned(logdirs, ownership) as logs:
        found = [log for _, log in sorted(logs.logs.items())]
        found += sorted(logs.future_and_stray, key=lambda log: log.folder.name)
        for log in found:
            if as_json:
                print_json(_fields(log, losses))
            else:
                _say(log, losses, dry_run=dry_run)
        swept = _sweep(logs)
        if not as_json:
            for path in swept:
                removed = "would be removed" if dry_run else "removed"
                echo(f"{path}: {removed}: it was staged by a writer that died")
            if marked := sum(name.endswith(Transient.DELETED) for log in found for name in log.deleted_files):
                verb = "would be" if dry_run else "was" if marked == 1 else "were"
                echo(f"{many(marked, 'file')} marked .deleted {verb} removed")
            echo(_summary(found, losses, dry_run=dry_run))
            if dry_run:
                _say_what_copy_keeps([root.path for root in logs.roots], losses)
            if not check_all and any(root.clean for root in live(logs.roots)):
                echo(".kafka_cleanshutdown was trusted; --all checks everything")
        for folder, error in sorted(logs.unreadable.items()):
            echo(f"octavo: {folder}: not recovered: {described(error).removeprefix(f'{folder}: ')}", err=True)
    return 1 if logs.unreadable else 0


def _sweep(logs: LogManager) -> list[Path]:
    """Remove staged files that are too old to be committed; returns the removed files."""
    environment, roots = logs.environment, [root.path for root in live(logs.roots)]
    keep = logs.commits.ledger.pending_files()
    return sweep_dead(environment.filesystem, roots, environment.clock.time_ms(), keep=keep)


def _say(log: PartitionLog, losses: Losses, *, dry_run: bool) -> None:
    name = log.folder.name
    for line in cuts(name, log, losses, dry_run=dry_run):
        echo(line)
    state = PartitionFolder.parse(name).state
    if state in _UNSERVED:
        echo(f"{name}: {_UNSERVED[state]}: kept, but no broker serves it")


def _say_what_copy_keeps(roots: Sequence[Path], losses: Losses) -> None:
    for root in roots:
        lost = [loss for path, loss in losses.by_path.items() if path.is_relative_to(root)]
        if sound := sum(loss.sound_records for loss in lost):
            lie, them = ("record lies", "it") if sound == 1 else ("records lie", "them")
            echo(f"{sound} sound {lie} after damage; `octavo copy {shlex.quote(str(root))} NEW` keeps {them}")


def _fields(log: PartitionLog, losses: Losses) -> dict[str, object]:
    missing = missing_from(log, losses)
    return {
        **PartitionFolder.parse(log.folder.name).topic_partition._asdict(),
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
                **_lost_fields(loss_of(log, segment.base_offset, losses)),
                "problem": segment.problem,
            }
            for segment in log.recovered
            if segment.bytes_cut
        ],
        "droppedSegments": [
            {
                "segment": gone.base_offset,
                "bytes": gone.size,
                **_lost_fields(loss_of(log, gone.base_offset, losses)),
                "problem": gone.reason,
            }
            for gone in log.dropped
        ],
        "missingOffsets": None if missing is None else [missing.end_offset, missing.last_offset],
        "deletedFiles": sorted(log.deleted_files),
    }


def _lost_fields(loss: LostPart) -> dict[str, object]:
    return {
        "firstOffset": loss.first_offset,
        "lastOffset": loss.last_offset,
        "records": loss.records,
        "soundRecords": loss.sound_records,
        "zeros": loss.zeros,
    }


def _summary(logs: list[PartitionLog], losses: Losses, *, dry_run: bool) -> str:
    segments = sum(len(log.recovered) for log in logs)
    lost = [log for log in logs if log.dropped or any(segment.bytes_cut for segment in log.recovered)]
    cut = sum(segment.bytes_cut for log in lost for segment in log.recovered)
    dropped = sum(gone.size for log in lost for gone in log.dropped)
    would = "would be " if dry_run else ""
    checked = f"{many(segments, 'segment')} of {many(len(logs), 'partition')} {would}checked and reindexed"
    if not lost:
        return f"{checked}; nothing {would or 'was '}cut"
    records = many(sum(loss.records for loss in losses.by_path.values()), "record")
    return f"{checked}; {records}, {many(cut + dropped, 'byte')} of {many(len(lost), 'partition')} {would}cut"
