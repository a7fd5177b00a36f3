"""`octavo verify`: prints one line per problem, then a summary."""

from __future__ import annotations

from dataclasses import asdict

import click

from octavo.cli.options import coloured, json_option, logdirs_argument, many, print_json, say_notes, unpacked_option
from octavo.cli.options import command as declare
from octavo.cli.plain import plain
from octavo.cli.progress import progress_bar
from octavo.cli.runner import SparkCommand, job_runner, spark_option
from octavo.jobs.verify.finding import Finding, Severity
from octavo.jobs.verify.job import Verification, VerifySummary
from octavo.jobs.verify.plan import plan
from octavo.scanner.log_dirs import no_partition


@declare("verify", SparkCommand)
@logdirs_argument
@spark_option
@json_option
@unpacked_option
def command(logdirs: tuple[str, ...], master: str | None, as_json: bool) -> int:
    """Check everything in LOGDIR: checksums, lengths, offsets, records, indexes, snapshots, checkpoints, names.

    Prints one line per problem: path, position in the file, kind, detail, severity; then a summary. The exit code is 1
    if there is a problem. What a crash leaves in the last segment, and what is about to be deleted, is only info. The
    directory may be in use by a broker: nothing is locked or changed.
    """
    plans = plan(logdirs)
    say_notes(no_partition(planned.location) for planned in plans if planned.root and planned.is_empty)
    total = sum(task.size for planned in plans for task in planned.tasks())
    with job_runner(master) as runner, progress_bar("verifying", total) as progress:
        verification = Verification(plans, runner, progress)
        for finding in verification.findings():
            _print(finding, as_json)
    summary = verification.summary
    if as_json:
        print_json(_fields(summary))
    else:
        click.echo(_sentence(summary))
    return 1 if summary.problems else 0


def _print(finding: Finding, as_json: bool) -> None:
    if as_json:
        print_json(asdict(finding))
        return
    place = finding.path if finding.position is None else f"{finding.path}, position {finding.position}"
    colour = "red" if finding.severity is Severity.PROBLEM else "yellow"
    found = plain(f"{place}: {finding.problem}: {finding.detail}")
    click.echo(f"{coloured(finding.severity, colour)}: {found}")


def _fields(summary: VerifySummary) -> dict[str, object]:
    fields: dict[str, object] = asdict(summary)
    fields["bytes"] = fields.pop("size")
    return fields


def _sentence(summary: VerifySummary) -> str:
    checked = f"{many(summary.segments, 'segment')} of {many(summary.partitions, 'partition')}"
    content = f"{many(summary.batches, 'batch', 'batches')}, {many(summary.records, 'record')}, {summary.size} bytes"
    return f"{many(summary.problems, 'problem')}, {many(summary.infos, 'info')} in {checked} ({content})"
