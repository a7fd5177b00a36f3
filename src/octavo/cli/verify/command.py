"""`octavo verify`: checks everything in log directories, and reports what it finds."""

from __future__ import annotations

from dataclasses import asdict

import click

from octavo.cli.options import command as declare
from octavo.cli.options import json_option, logdirs_argument, print_json, say_notes, unpacked_option
from octavo.cli.progress import progress_bar
from octavo.cli.runner import SparkCommand, job_runner, spark_option
from octavo.cli.verify.report import FindingPrinter
from octavo.jobs.verify.job import Verification
from octavo.jobs.verify.plan import plan
from octavo.scanner.log_dirs import no_partition


@declare("verify", SparkCommand)
@logdirs_argument
@click.option(
    "--all", "show_all", is_flag=True, help="Show every finding, including those that are normal after a crash."
)
@spark_option
@json_option
@unpacked_option
def command(logdirs: tuple[str, ...], show_all: bool, master: str | None, as_json: bool) -> int:
    """Check everything in LOGDIR: checksums, lengths, offsets, records, indexes, snapshots, checkpoints, names.

    Prints the problems, each with its path, the position in the file, its kind and what was found. What a crash leaves
    in the last segment, and what is about to be deleted, is only a note; one line counts the notes. Then come a
    summary, and the commands to run next. The exit code is 1 if there is a problem, or if there was nothing to check.
    The directory may be in use by a broker: nothing is locked or changed.
    """
    plans = plan(logdirs)
    say_notes(no_partition(planned.location) for planned in plans if planned.root and planned.is_empty)
    total = sum(task.size for planned in plans for task in planned.tasks())
    report = None if as_json else FindingPrinter(plans, show_all=show_all)
    with job_runner(master) as runner, progress_bar("verifying", total) as progress:
        verification = Verification(plans, runner, progress)
        for finding in verification.findings():
            if report is None:
                print_json(asdict(finding))
            else:
                report.add(finding)
    summary = verification.summary
    if report is None:
        fields = asdict(summary)
        fields["bytes"] = fields.pop("size")
        print_json(fields)
    else:
        report.finish(summary)
    return 1 if summary.problems or not summary.partitions else 0
