"""What kafka-dump-log prints on stderr after all files: index entries and offsets that do not match."""

from __future__ import annotations

import sys
from collections import defaultdict

Pair = tuple[int, int]


class DumpFindings:
    """Findings by the absolute path of their file, ordered by each file's first finding."""

    def __init__(self) -> None:
        self.index_mismatches: dict[str, dict[int, int]] = defaultdict(dict)  # index offset → log offset
        self.timestamp_mismatches: dict[str, list[Pair]] = defaultdict(list)  # index timestamp, log timestamp
        self.out_of_order: dict[str, list[Pair]] = defaultdict(list)  # index timestamp, the one before it
        self.not_found: dict[str, list[Pair]] = defaultdict(list)  # index offset, log offset
        self.gaps: dict[str, dict[int, int]] = defaultdict(dict)  # offset → the one that follows it

    def print(self) -> None:
        """Print all findings, in Kafka's order."""
        for path, offsets in self.index_mismatches.items():
            descending = sorted(offsets.items(), reverse=True)
            _print(f"Mismatches in :{path}", "  Index offset: {}, log offset: {}", descending)
        for path, pairs in self.timestamp_mismatches.items():
            _print(f"Found timestamp mismatch in :{path}", "  Index timestamp: {}, log timestamp: {}", pairs)
        for path, pairs in self.out_of_order.items():
            line = "  Index timestamp: {}, Previously indexed timestamp: {}"
            _print(f"Found out of order timestamp in :{path}", line, pairs)
        for path, pairs in self.not_found.items():
            line = "Indexed offset: {}, found log offset: {}"
            _print(f"The following indexed offsets are not found in :{path}", line, pairs)
        for path, followers in self.gaps.items():
            _print(f"Non-consecutive offsets in {path}", "  {} is followed by {}", sorted(followers.items()))


def say(*lines: str) -> None:
    """Print lines on stderr, after everything printed so far if both streams go to the same place."""
    sys.stdout.flush()
    print(*lines, sep="\n", file=sys.stderr)


def _print(title: str, line: str, pairs: list[Pair]) -> None:
    say(title, *(line.format(*pair) for pair in pairs))
