"""`octavo completion`: the script that lets a shell complete `octavo`."""

from __future__ import annotations

import click

from octavo.cli.options import command as declare


@declare("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the script that lets your shell complete commands, options, files, topics and configs.

    Topics are completed from the log directories that are already on the line.
    """
    from octavo.cli.group import complete

    return complete(f"{shell}_source")
