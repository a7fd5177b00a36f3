"""The libraries that take long to load, which a start does without."""

from __future__ import annotations

HEAVY = {"numpy", "pyarrow", "pyspark", "click", "rich", "cramjam", "isal", "zstandard"}
