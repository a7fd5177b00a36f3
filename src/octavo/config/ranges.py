"""Which values a config may have, and how errors, docs and the command line describe them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from octavo.config.kinds import ConfigValue


class ValueRange(Protocol):
    """A set of values. Its text follows "expected" in errors, and is empty if every value is allowed."""

    def __contains__(self, value: ConfigValue) -> bool: ...

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Anything:
    """All values of the type."""

    def __contains__(self, value: ConfigValue) -> bool:
        return True

    def __str__(self) -> str:
        return ""


@dataclass(frozen=True)
class Between:
    """Numbers from `low` to `high`, both inclusive, and `others`, which have a special meaning."""

    low: float
    high: float | None = None
    others: tuple[int, ...] = ()

    def __contains__(self, value: ConfigValue) -> bool:
        if not isinstance(value, int | float):
            return False
        return value in self.others or (self.low <= value and (self.high is None or value <= self.high))

    def __str__(self) -> str:
        text = f"≥ {self.low}" if self.high is None else f"{self.low} to {self.high}"
        return " or ".join([text, *map(str, self.others)])


@dataclass(frozen=True)
class NotZero:
    """For a broker's retention configs: any negative number, in any unit, means no limit."""

    def __contains__(self, value: ConfigValue) -> bool:
        return value != 0

    def __str__(self) -> str:
        return "≥ 1 or negative"


@dataclass(frozen=True)
class OneOf:
    """One of these texts or numbers, exactly as spelled."""

    choices: tuple[str, ...] | tuple[int, ...]

    def __contains__(self, value: ConfigValue) -> bool:
        return value in self.choices

    def __str__(self) -> str:
        return "one of " + ", ".join(map(str, self.choices))


@dataclass(frozen=True)
class AnyOf:
    """A list of at least `least` of these elements."""

    choices: tuple[str, ...]
    least: int = 0

    def __contains__(self, value: ConfigValue) -> bool:
        return isinstance(value, tuple) and len(value) >= self.least and set(value) <= set(self.choices)

    def __str__(self) -> str:
        return ("some of " if self.least else "any of ") + ", ".join(self.choices)


@dataclass(frozen=True)
class Elements:
    """A list of at least `least` elements, none of them empty."""

    least: int = 0

    def __contains__(self, value: ConfigValue) -> bool:
        return isinstance(value, tuple) and len(value) >= self.least and "" not in value

    def __str__(self) -> str:
        return "at least one element, none empty" if self.least else "no empty element"


@dataclass(frozen=True)
class Replicas:
    """`*`, or a list of `partition:broker`."""

    def __contains__(self, value: ConfigValue) -> bool:
        if not isinstance(value, tuple):
            return False
        # Kafka joins the elements again before it checks them, so empty ones pass.
        return value == ("*",) or all(not element or re.fullmatch(r"[0-9]+:[0-9]+", element) for element in value)

    def __str__(self) -> str:
        return "* or partition:broker,…"


BY_DURATION = "by_duration:"
# Java's Duration: days, hours, minutes, seconds with a fraction.
DURATION = re.compile(
    r"\+?P(?=\d|T)(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d{1,9})?)S)?)?", re.IGNORECASE | re.ASCII
)


@dataclass(frozen=True)
class ShareReset:
    """Where a share group begins to read."""

    def __contains__(self, value: ConfigValue) -> bool:
        text = str(value)
        if text.startswith(BY_DURATION):
            return DURATION.fullmatch(text[len(BY_DURATION) :]) is not None
        return text in ("earliest", "latest")

    def __str__(self) -> str:
        return f"earliest, latest or {BY_DURATION}<ISO-8601 duration>"


ANYTHING = Anything()
