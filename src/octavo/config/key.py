"""`ConfigKey`, a row of the table, and `config`, which declares one as the field of a dataclass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from types import MappingProxyType
from typing import Any

from octavo.config.kinds import INT, Given, Kind, Value, as_text
from octavo.config.ranges import ANYTHING, Range
from octavo.errors import ConfigError


class Unit(Enum):
    """The unit of a broker's synonym: its value times this is the topic's."""

    SAME = 1
    MINUTES = 60_000
    HOURS = 3_600_000


@dataclass(frozen=True)
class Synonym:
    """A broker config that gives a topic config its default; of several the first that is set wins."""

    name: str
    unit: Unit = Unit.SAME
    valid: Range | None = None  # of the topic's value, where the broker's differs from the topic's
    least: int | None = None  # anything lower means this


@dataclass(frozen=True)
class ConfigKey:
    """A config as Kafka defines it: everything that parsing, docs and the command line need to know."""

    name: str
    kind: Kind
    default: Value
    valid: Range
    doc: str
    synonyms: tuple[Synonym, ...] = ()
    internal: bool = False

    @property
    def attribute(self) -> str:
        return self.name.replace(".", "_")

    @property
    def summary(self) -> str:
        """The first sentence of `doc`."""
        return self.doc.split(". ")[0].rstrip(".") + "."

    def parse(self, given: Given) -> Value:
        """The value of this text, inside the range; ConfigError if it is none."""
        return _parse(self.name, self.kind, self.valid, given)

    def parse_synonym(self, synonym: Synonym, given: Given) -> Value:
        """The value of this config, in its own unit, that a broker gives it by this text under the synonym's name."""
        valid = self.valid if synonym.valid is None else synonym.valid
        if synonym.unit is Unit.SAME and synonym.least is None:
            return _parse(synonym.name, self.kind, valid, given)
        number = _parse(synonym.name, self.kind if synonym.unit is Unit.SAME else INT, ANYTHING, given)
        assert isinstance(number, int), "units and least values are for whole numbers"
        value = number * synonym.unit.value
        return _inside(synonym.name, valid, value if synonym.least is None else max(value, synonym.least), given)


def config(
    kind: Kind,
    default: Value,
    valid: Range = ANYTHING,
    *synonyms: str | Synonym,
    doc: str,
    internal: bool = False,
) -> Any:  # as with dataclasses.field, the annotation says what it is
    """Declare a config as a dataclass field: its name is the field's with dots for underscores."""
    named = tuple(Synonym(synonym) if isinstance(synonym, str) else synonym for synonym in synonyms)
    rest = {"valid": valid, "doc": doc, "synonyms": named, "internal": internal}
    return field(default=default, metadata={"kind": kind, "default": default, **rest})


def keys_of(table: type) -> Mapping[str, ConfigKey]:
    """The configs that a dataclass declares, by name."""
    keys = [ConfigKey(name=row.name.replace("_", "."), **row.metadata) for row in fields(table)]
    return MappingProxyType({key.name: key for key in sorted(keys, key=lambda key: key.name)})


def _parse(name: str, kind: Kind, valid: Range, given: Given) -> Value:
    try:
        value = kind.parse(given)
    except ValueError as error:
        raise ConfigError(f"{name} is {as_text(given)!r}, expected {kind.expected}") from error
    return _inside(name, valid, value, given)


def _inside(name: str, valid: Range, value: Value, given: Given) -> Value:
    if value not in valid:
        raise ConfigError(f"{name} is {as_text(given)!r}, expected {valid}")
    return value
