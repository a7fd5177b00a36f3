"""What `main` and the commands share: the settings of a run, and the error for a wrong command line."""

from __future__ import annotations

COMPLETION_VARIABLE = "_OCTAVO_COMPLETE"  # the name that click derives from the command's name


class Settings:
    """Settings for the whole run."""

    def __init__(self) -> None:
        self.debug = False


class UsageError(Exception):
    """The command line is wrong: one sentence, exit code 2."""
