"""All targets, by name."""

from __future__ import annotations

from tests.fuzz.detail_targets import DETAIL_TARGETS
from tests.fuzz.file_targets import FILE_TARGETS
from tests.fuzz.log_targets import LOG_TARGETS
from tests.fuzz.message_targets import MESSAGE_TARGETS
from tests.fuzz.target import Target

TARGETS: dict[str, Target] = {
    target.name: target for target in (*LOG_TARGETS, *DETAIL_TARGETS, *FILE_TARGETS, *MESSAGE_TARGETS)
}
