"""What the configs of clients share: a table's names with dots or underscores, unknown ones refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from octavo.config.key import ConfigKey
from octavo.config.kinds import Given
from octavo.config.table import unknown


def parse_client(
    what: str, keys: Mapping[str, ConfigKey], configs: Mapping[str, Given] | None, named: Mapping[str, Given | None]
) -> dict[str, Any]:
    """Values by attribute: `configs` by Kafka's names, over them `named` with underscores for dots; None is not given.

    ConfigError for a name that is no config of the table, with the nearest one.
    """
    given = dict(configs or {})
    given |= {name.replace("_", "."): value for name, value in named.items() if value is not None}
    for name in given:
        if name not in keys:
            raise unknown(what, name, keys, f"expected one of {', '.join(keys)}")
    return {keys[name].attribute: keys[name].parse(value) for name, value in given.items()}
