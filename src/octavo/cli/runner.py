"""`--spark [MASTER]`: chooses where the tasks of a command run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import click

from octavo.system.runner import Runner, ThreadRunner

LOCAL_MASTER = "local[*]"
_MASTER = re.compile(r"(local|local\[.+\]|local-cluster\[.+\]|yarn|(spark|k8s)://.+)")


class SparkCommand(click.Command):
    """A command whose `--spark` takes the next word only if it is a master."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        following = [*args, ""][1:]
        alone = [arg == "--spark" and not _MASTER.fullmatch(word) for arg, word in zip(args, following, strict=True)]
        return super().parse_args(
            ctx, [f"--spark={LOCAL_MASTER}" if is_alone else arg for arg, is_alone in zip(args, alone, strict=True)]
        )


spark_option = click.option(
    "--spark", "master", metavar="[MASTER]",
    help=f"Run the work as Spark tasks, on {LOCAL_MASTER} unless a master is named; the result is the same.",
)  # fmt: skip


@contextmanager
def job_runner(master: str | None, *, in_place: bool = False) -> Iterator[Runner]:
    """The runner for a command: this process's threads, or Spark; `in_place` as in `SparkRunner`."""
    if master is None:
        yield ThreadRunner()
        return
    from octavo.spark.runner import SparkRunner
    from octavo.spark.session import session

    with session(master) as spark:
        yield SparkRunner(spark, in_place=in_place)
