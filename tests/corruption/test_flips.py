"""Any flipped byte of a log directory is found, named and located, or there is a reason why nobody can tell.

`make soak` flips ten thousand bytes (OCTAVO_FLIPS=10000).
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.corruption.harmless import reason
from tests.corruption.nearness import is_near
from tests.corruption.scene import Scene, changed

ARCHIVES = ["v431-clean", "v431-killed", "v431-compact-pass2", "v282", "v01103", "upgrade-mixed", "v0821"]
FLIPS = int(os.environ.get("OCTAVO_FLIPS", "420"))
SEED = int(os.environ.get("OCTAVO_FLIPS_SEED", "2026"))


@pytest.mark.parametrize("archive", ARCHIVES)
def test_every_flip_is_found_or_harmless(archive: str, tmp_path: Path) -> None:
    scene = Scene.of(archive, tmp_path)
    unexplained: list[str] = []
    outcomes: Counter[str] = Counter()
    for flip in scene.flips(FLIPS // len(ARCHIVES), SEED):
        findings = [found for found in scene.found(flip) if found.path == str(flip.path)]
        if not findings:
            with changed(flip):
                why = reason(flip)
            outcomes[why or "missed"] += 1
            if why is None:
                unexplained.append(f"{flip}: not found")
            continue
        outcomes["found"] += 1
        if not any(is_near(found, flip.path, flip.position) for found in findings):
            unexplained.append(f"{flip}: found at {[found.position for found in findings]}")
    assert unexplained == []
    assert outcomes["found"] > sum(outcomes.values()) / 2
