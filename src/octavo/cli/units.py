"""Formats times and sizes for people: exact numbers, followed by larger units."""

from __future__ import annotations

import re
import sys

_DAY_MS = 86_400_000
_TIMES = {"years": 365.25 * _DAY_MS, "d": _DAY_MS, "h": 3_600_000, "min": 60_000}
_SIZES = {"TiB": 1 << 40, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}
_LEAST_BYTES = 10 << 10  # smaller sizes are easy to read anyway
_NO_LIMIT = (1 << 63) - 1  # Kafka's default for times such as flush.ms, which means never
# "66973280 bytes", "5000 ms", and values of configs such as "retention.ms is 604800000".
_NUMBERS = re.compile(
    r"(?P<size>\b\d+) bytes\b|(?P<time>\b\d+) ms\b"
    r"|\b[a-z.]+\.(?:(?P<of_bytes>bytes)|ms)(?: is)? (?P<config>\d+)\b(?! bytes| ms)"
)


def with_units(line: str) -> str:
    """The line with larger units after its sizes and times: `67108864 bytes (64 MiB)`, `604800000 ms (7 d)`."""
    return _NUMBERS.sub(lambda found: found[0] + _beside(found), line)


def size_cell(size: int) -> str:
    """A size in a table: on a terminal `67108864 (64 MiB)`, otherwise the number."""
    return with_units(f"{size} bytes").replace(" bytes", "", 1) if sys.stdout.isatty() else str(size)


def config_cell(name: str, value: str) -> str:
    """A config's value, on a terminal with a larger unit if it is a size or a time."""
    return with_units(f"{name} {value}").removeprefix(f"{name} ") if sys.stdout.isatty() else value


def _beside(found: re.Match[str]) -> str:
    if found["size"] or found["of_bytes"]:
        size = int(found["size"] or found["config"])
        human = _in(_SIZES, size) if size >= _LEAST_BYTES else ""
    else:
        human = _in(_TIMES, int(found["time"] or found["config"]))
    if not human:
        return ""
    is_in_brackets = found.string.startswith(")", found.end())
    return f" = {human}" if is_in_brackets else f" ({human})"


def _in(units: dict[str, int] | dict[str, float], number: int) -> str:
    if number == _NO_LIMIT:
        return ""
    for name, unit in units.items():
        if number >= unit:
            return f"{number // unit:.0f} {name}" if number % unit == 0 else f"{number / unit:.1f} {name}"
    return ""
