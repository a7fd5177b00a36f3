"""dump-log's flags for click, only for shell completion; a real command line is parsed by Kafka's rules."""

from __future__ import annotations

import click

from octavo.cli.dump_log.options import FLAGS, Flag, FlagValue


def _option(flag: Flag) -> click.Option:
    has_value = flag.value is not FlagValue.NONE
    paths = click.Path() if flag.name == "files" else None
    return click.Option([f"--{flag.name}"], is_flag=not has_value, type=paths, help=flag.meaning)


command = click.Command("dump-log", params=[_option(flag) for flag in FLAGS.values()], add_help_option=False)
