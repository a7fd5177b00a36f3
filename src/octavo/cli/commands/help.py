"""`octavo help`: shows the help for a command, or for `octavo` itself."""

from __future__ import annotations

import click

from octavo.cli.command_table import COMMANDS
from octavo.cli.options import command as declare
from octavo.cli.settings import Settings


@declare("help")
@click.argument(
    "name", metavar="[COMMAND]", required=False,
    shell_complete=lambda _, __, incomplete: [name for name in COMMANDS if name.startswith(incomplete)],
)  # fmt: skip
@click.pass_context
def command(context: click.Context, name: str | None) -> int:
    """Explain a command, or list all of them."""
    from octavo.cli.app import run

    return run([name, "--help"] if name else ["--help"], context.find_object(Settings) or Settings())
