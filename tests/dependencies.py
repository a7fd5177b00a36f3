"""Libraries that take long to load, and must not be imported at start-up."""

from __future__ import annotations

HEAVY = {"numpy", "pyarrow", "pyspark", "click", "rich", "cramjam", "isal", "zstandard"}
