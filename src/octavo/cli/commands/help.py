"""`octavo help`: shows the help for a command, or for `octavo` itself."""

from __future__ import annotations

import click

from octavo.cli.command_table import COMMANDS
from octavo.cli.options import command as declare


@declare("help")
@click.argument("name", metavar="[COMMAND]", required=False, type=click.Choice(list(COMMANDS)))
@click.pass_context
def command(context: click.Context, name: str | None) -> int:
    """Explain a command, or list all of them."""
    from octavo.cli.app import Settings, run

    return run([name, "--help"] if name else ["--help"], context.find_object(Settings) or Settings())
