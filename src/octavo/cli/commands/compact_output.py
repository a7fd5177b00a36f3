"""What `octavo compact` prints about a partition."""

from __future__ import annotations

from octavo.cli.options import echo, print_json
from octavo.jobs.compact import CompactedPartition
from octavo.storage.cleaner.clean import Cleaned


def print_row(row: CompactedPartition, *, as_json: bool) -> None:
    """Print one line of JSON, or up to two lines of text."""
    if as_json:
        print_json(_fields(row))
        return
    explanation, name = row.explanation, row.topic_partition
    if row.error is not None:
        echo(f"{name}: not cleaned: {row.error}")
    elif row.cleaned is None:
        echo(f"{name}: not cleaned: {explanation.verdict}")
    else:
        echo(f"{name}: {_sentence(row.cleaned, row.dry_run)} ({explanation.verdict})")
    if explanation.is_compacted:
        echo(f"  cannot go beyond offset {explanation.cleanable.first_uncleanable_offset}: {explanation.hold}")


def _sentence(cleaned: Cleaned, dry_run: bool) -> str:
    before, after = sum(group.old_size for group in cleaned.groups), sum(group.size for group in cleaned.groups)
    segments = sum(len(group.segments) for group in cleaned.groups)
    read = sum(group.counts.records_read for group in cleaned.groups)
    kept = sum(group.counts.records_kept for group in cleaned.groups)
    verb = "would become" if dry_run else "became"
    sizes = (
        f"{segments} segments of {before} bytes {verb} {len(cleaned.groups)} of {after}, {before - after} bytes less"
    )
    end = f"clean up to offset {cleaned.end_offset}"
    rest = "; not all keys fitted into the map, run it again to go on" if cleaned.is_full else ""
    return f"{sizes}; {kept} of {read} records stay; {end}{rest}"


def _fields(row: CompactedPartition) -> dict[str, object]:
    explanation, cleaned, transaction = row.explanation, row.cleaned, row.explanation.open_transaction
    cleanable = explanation.cleanable
    fields: dict[str, object] = {
        "topic": row.topic_partition.topic,
        "partition": row.topic_partition.partition,
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
    counts = [group.counts for group in cleaned.groups]
    return {
        **fields,
        "endOffset": cleaned.end_offset,
        "mapFull": cleaned.is_full,
        "keys": cleaned.keys,
        "groups": [[segment.base_offset for segment in group.segments] for group in cleaned.groups],
        "bytesBefore": sum(group.old_size for group in cleaned.groups),
        "bytesAfter": sum(group.size for group in cleaned.groups),
        "recordsRead": sum(each.records_read for each in counts),
        "recordsKept": sum(each.records_kept for each in counts),
        "recordsWithoutKey": sum(each.records_without_key for each in counts),
    }
