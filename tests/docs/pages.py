"""The pages of the documentation and the blocks of code in them."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


# A process without compiled kernels says so on stderr; the pages show what the others print.
QUIET = {**os.environ, "PYTHONWARNINGS": "ignore"}


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
