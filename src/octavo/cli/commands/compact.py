"""`octavo compact`: cleans what is due, and explains why the rest is not."""

from __future__ import annotations

import click

from octavo.cli.options import command as declare
from octavo.cli.options import (
    configs_option,
    echo,
    json_option,
    key_values,
    logdirs_argument,
    many,
    now_option,
    print_json,
    topic_configs,
    topics_option_of,
    unpacked_option,
)
from octavo.cli.owner import owned
from octavo.cli.progress import progress_bar
from octavo.cli.runner import SparkCommand, job_runner, spark_option
from octavo.config import BrokerConfig
from octavo.errors import ConfigError
from octavo.jobs.compact import CLEANER_CONFIGS, CompactedPartition, Compaction, CompactRequest
from octavo.kernels.offset_table import KeyHash
from octavo.storage.cleaner.clean import Cleaned
from octavo.storage.cleaner.range import Hold


def _configs(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Parse topic configs, and the cleaner's own."""
    of_cleaner = tuple(text for text in given if text.partition("=")[0] in CLEANER_CONFIGS)
    of_topics = topic_configs(context, option, tuple(text for text in given if text not in of_cleaner))
    cleaner = key_values(context, option, of_cleaner)
    try:
        BrokerConfig.of(cleaner)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from error
    return {**of_topics, **cleaner}


@declare("compact", SparkCommand)
@logdirs_argument
@topics_option_of("all compacted topics")
@configs_option(_configs)
@now_option
@click.option("--force", is_flag=True, help="Clean regardless of the dirty ratio.")
@click.option("--roll", is_flag=True, help="Close the active segments first, so that they can be cleaned, too.")
@click.option("--dry-run", is_flag=True, help="Say what would be cleaned and why, and change nothing; takes no lock.")
@click.option(
    "--key-hash",
    type=click.Choice([key_hash.name.lower() for key_hash in KeyHash]),
    default=KeyHash.SIPHASH.name.lower(),
    help="The hash that tells keys apart; md5 is Kafka's.",
)
@spark_option
@json_option
@unpacked_option
def command(
    logdirs: tuple[str, ...],
    topics: tuple[str, ...],
    configs: dict[str, str],
    now_ms: int | None,
    force: bool,
    roll: bool,
    dry_run: bool,
    key_hash: str,
    master: str | None,
    as_json: bool,
) -> int:
    """Clean each partition once: the last record of every key stays, a tombstone only for delete.retention.ms.

    A partition is cleaned if its dirty ratio is above min.cleanable.dirty.ratio, or max.compaction.lag.ms has passed.
    Prints what was done with each partition or why nothing was, and what keeps the cleaner from going further, such as
    the active segment, an open transaction or min.compaction.lag.ms. --config accepts topic configs, and those
    log.cleaner.* configs that are not synonyms of topic configs: dedupe.buffer.size, io.buffer.load.factor and threads
    decide how much memory the keys get. If they do not fit, the round ends before the dirty part does, and the next
    round continues from there.
    """
    if dry_run and master is not None:
        raise click.UsageError("--dry-run works only on this machine: leave out --spark")
    request = CompactRequest(
        topics=topics,
        configs=configs,
        now_ms=now_ms,
        force=force,
        roll=roll,
        dry_run=dry_run,
        key_hash=KeyHash[key_hash.upper()],
    )
    failed = rows = 0
    with owned(logdirs, request.ownership(logdirs)) as logs:
        compaction = Compaction(request, logs)
        with (
            job_runner(master, in_place=True) as runner,
            progress_bar("compacting", compaction.size) as progress,
        ):
            for row in compaction.rows(runner, progress):
                rows, failed = rows + 1, failed + (row.error is not None or not row.explanation.is_compacted)
                _print_row(row, as_json=as_json, rolled=roll)
    if not rows:
        remedy = "choose one with --topic and --config cleanup.policy=compact"
        problem = f"nothing to clean: no topic has compact in its cleanup.policy; {remedy}"
        echo(f"octavo: {', '.join(logdirs)}: {problem}", err=True)
    return 1 if failed or not rows else 0


def _print_row(row: CompactedPartition, *, as_json: bool, rolled: bool) -> None:
    """Print one line of JSON, or up to two lines of text."""
    if as_json:
        print_json(_fields(row))
        return
    explanation, topic_partition = row.explanation, row.topic_partition
    if row.error is not None:
        echo(f"{topic_partition}: not cleaned: {row.error}")
    elif row.cleaned is None:
        echo(f"{topic_partition}: not cleaned: {explanation.verdict}")
    else:
        why = explanation.verdict if explanation.is_eligible else "forced"
        echo(f"{topic_partition}: {_sentence(row.cleaned, row.dry_run)} ({why})")
    if explanation.is_compacted:
        is_held = row.cleaned is None and explanation.cleanable.hold is Hold.ACTIVE_SEGMENT and not rolled
        hint = "; --roll closes it first" if is_held else ""
        echo(f"  cannot go beyond offset {explanation.cleanable.first_uncleanable_offset}: {explanation.hold}{hint}")


def _sentence(cleaned: Cleaned, dry_run: bool) -> str:
    before, after = sum(group.old_size for group in cleaned.groups), sum(group.size for group in cleaned.groups)
    segments = sum(len(group.segments) for group in cleaned.groups)
    read = sum(group.records_read for group in cleaned.groups)
    kept = sum(group.records_kept for group in cleaned.groups)
    verb = "would become" if dry_run else "became"
    old = f"{many(segments, 'segment')} of {many(before, 'byte')}"
    sizes = f"{old} {verb} {len(cleaned.groups)} of {after}, {many(before - after, 'byte')} less"
    end = f"clean up to offset {cleaned.end_offset}"
    rest = "; not all keys fit into the map, so run the command again to continue" if cleaned.is_full else ""
    return f"{sizes}; {kept} of {many(read, 'record stays', 'records stay')}; {end}{rest}"


def _fields(row: CompactedPartition) -> dict[str, object]:
    explanation, cleaned, transaction = row.explanation, row.cleaned, row.explanation.open_transaction
    cleanable = explanation.cleanable
    fields: dict[str, object] = {
        **row.topic_partition._asdict(),
        "cleaned": cleaned is not None and not row.dry_run,
        "reason": str(row.error) if row.error is not None else explanation.verdict,
        "dirtyRatio": round(cleanable.ratio, 6),
        "cleanBytes": cleanable.clean_bytes,
        "cleanableBytes": cleanable.cleanable_bytes,
        "firstDirtyOffset": cleanable.first_dirty_offset,
        "firstUncleanableOffset": cleanable.first_uncleanable_offset,
        "heldBy": cleanable.hold.value,
        "holdOffset": cleanable.uncleanable_offset,
        "holdReason": explanation.hold,
        "openTransaction": None
        if transaction is None
        else {
            "producerId": transaction.producer_id,
            "firstOffset": transaction.first_offset,
            "ageMs": transaction.age_ms,
        },
    }
    if cleaned is None:
        return fields
    return {
        **fields,
        "endOffset": cleaned.end_offset,
        "mapFull": cleaned.is_full,
        "keys": cleaned.keys,
        "groups": [[segment.base_offset for segment in group.segments] for group in cleaned.groups],
        "bytesBefore": sum(group.old_size for group in cleaned.groups),
        "bytesAfter": sum(group.size for group in cleaned.groups),
        "recordsRead": sum(group.records_read for group in cleaned.groups),
        "recordsKept": sum(group.records_kept for group in cleaned.groups),
        "recordsWithoutKey": sum(group.records_without_key for group in cleaned.groups),
    }
