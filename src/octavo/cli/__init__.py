"""The command line `octavo`: one file or folder per command, each imported only when it runs."""

from octavo.cli.app import main

__all__ = ["main"]
