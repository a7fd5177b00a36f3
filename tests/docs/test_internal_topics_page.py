"""The page about internal topics lists the record types that the code knows."""

from __future__ import annotations

import re
from pathlib import Path

from octavo.format.messages.cluster_metadata import METADATA_TYPES
from octavo.format.messages.control import KRAFT_CONTROL_MESSAGES
from tests.format.messages.tables import COORDINATOR_TOPICS

PAGE = Path(__file__).parents[2] / "docs" / "formats" / "internal-topics.md"


def test_every_record_type_is_listed() -> None:
    rows = re.findall(r"^\| (\d+ \| .*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    expected = [
        f"{kind.id} | {kind.name} | {kind.value.versions} | {kind.value.flexible}"
        for types in COORDINATOR_TOPICS.values()
        for kind in types.values()
    ]
    expected += [f"{kind.id} | {kind.name} | {kind.message.versions}" for kind in METADATA_TYPES.values()]
    expected += [f"{type_id} | {schema.name}" for type_id, schema in KRAFT_CONTROL_MESSAGES.items()]
    assert rows == expected
