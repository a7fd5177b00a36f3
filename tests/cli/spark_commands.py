"""Runs commands one after the other in one process, sharing its JVM: `python -m … FOLDER < commands.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.cli.runs import octavo


def main(folder: str) -> None:
    runs = [octavo(*command, folder=Path(folder)) for command in json.load(sys.stdin)]
    print(json.dumps(runs))


if __name__ == "__main__":
    main(sys.argv[1])
