"""`ConfigKey`, a row of the config table, and `config`, which declares one as a dataclass field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from types import MappingProxyType
from typing import Any

from octavo.config.kinds import INT, ConfigType, ConfigValue, Given, as_text
from octavo.config.ranges import ANYTHING, ValueRange
from octavo.errors import ConfigError


class Unit(Enum):
    """The unit of a broker's synonym; its value times this number is the topic's value."""

    SAME = 1
    MINUTES = 60_000
    HOURS = 3_600_000


@dataclass(frozen=True)
class Synonym:
    """A broker config that gives a topic config its default; if several are set, the first one wins."""

    name: str
    unit: Unit = Unit.SAME
    valid: ValueRange | None = None  # if the broker's range differs from the topic's
    least: int | None = None  # smaller values count as this one

    def __str__(self) -> str:
        return self.name if self.unit is Unit.SAME else f"{self.name} ({self.unit.name.lower()})"

    def convert(self, value: ConfigValue) -> ConfigValue:
        """The topic's value for a broker's value."""
        if not isinstance(value, int) or isinstance(value, bool):
            return value
        value *= self.unit.value
        return value if self.least is None else max(value, self.least)


@dataclass(frozen=True)
class ConfigKey:
    """A config as Kafka defines it: everything that parsing, docs and the command line need to know."""

    name: str
    kind: ConfigType
    default: ConfigValue
    valid: ValueRange
    doc: str
    synonyms: tuple[Synonym, ...] = ()
    internal: bool = False
    is_used: bool = True  # otherwise Octavo accepts it, as Kafka does, but nothing depends on it

    @property
    def attribute(self) -> str:
        return self.name.replace(".", "_")

    @property
    def summary(self) -> str:
        """The first sentence of `doc`."""
        return self.doc.split(". ")[0].rstrip(".") + "."

    @property
    def default_text(self) -> str:
        """The default in readable form."""
        return as_text(self.default) or "(empty)"

    def parse(self, given: Given) -> ConfigValue:
        """Parse a config's value; raises ConfigError if it is not valid."""
        try:
            value = self.kind.parse(given)
        except ValueError as error:
            raise ConfigError(f"{self.name} is {as_text(given)!r}, expected {self.kind.expected}") from error
        if value not in self.valid:
            raise ConfigError(f"{self.name} is {as_text(given)!r}, expected {self.valid}")
        return value

    def of_synonym(self, synonym: Synonym) -> ConfigKey:
        """The broker config for a synonym; if there are several, the last one has the default."""
        default = None if synonym != self.synonyms[-1] else self.default
        if isinstance(default, int) and synonym.unit is not Unit.SAME:
            default //= synonym.unit.value
        before = [other.name for other in self.synonyms[: self.synonyms.index(synonym)]]
        unit = "" if synonym.unit is Unit.SAME else f", given in {synonym.unit.name.lower()}"
        unset = f"neither {' nor '.join(before)} is" if before[1:] else f"{''.join(before)} is not"
        used = f"; used if {unset} set" if before else ""
        return ConfigKey(
            name=synonym.name,
            kind=self.kind if synonym.unit is Unit.SAME else INT,
            default=default,
            valid=self.valid if synonym.valid is None else synonym.valid,
            doc=f"The default of {self.name}{unit}{used}. {self.doc}",
        )


def config(
    kind: ConfigType,
    default: ConfigValue,
    valid: ValueRange = ANYTHING,
    *synonyms: str | Synonym,
    doc: str,
    internal: bool = False,
    is_used: bool = True,
) -> Any:  # like dataclasses.field: the annotation gives the type
    """Declare a config as a dataclass field, named with underscores instead of dots."""
    named = tuple(Synonym(synonym) if isinstance(synonym, str) else synonym for synonym in synonyms)
    rest = {"valid": valid, "doc": doc, "synonyms": named, "internal": internal, "is_used": is_used}
    return field(default=default, metadata={"kind": kind, "default": default, **rest})


def keys_of(table: type) -> Mapping[str, ConfigKey]:
    """The configs that a dataclass declares, by name."""
    keys = [ConfigKey(name=row.name.replace("_", "."), **row.metadata) for row in fields(table)]
    return MappingProxyType({key.name: key for key in sorted(keys, key=lambda key: key.name)})
