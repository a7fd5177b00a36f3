"""The command line `octavo`: a file a command, each imported only when it is asked for."""

from octavo.cli.app import main

__all__ = ["main"]
