"""The options that the benchmarks share, and the heading above jobs that are compared with a peer."""

from __future__ import annotations

import argparse


def parse(name: str, doc: str | None, *, scale: float, of: str, rounds: int, what: str = "jobs") -> argparse.Namespace:
    """The options of `python -m <name>`; `of` says what --scale is a share of."""
    words = argparse.ArgumentParser(prog=f"python -m {name}", description=(doc or "").splitlines()[0])
    words.add_argument("--scale", type=float, default=scale, help=of)
    words.add_argument("--rounds", type=int, default=rounds)
    words.add_argument("--only", default="", help=f"{what} whose name contains this")
    words.add_argument("--json", action="store_true", help="one object per line")
    return words.parse_args()


def print_heading(options: argparse.Namespace) -> None:
    if not options.json:
        print(f"\n{'job':38} {'ours, s':>8} {'peer (* quoted)':>26} {'s':>8} {'by':>5} {'times':>7} {'gate':>6}")
