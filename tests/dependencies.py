"""The libraries that take long to load, which a start must not import."""

from __future__ import annotations

HEAVY = {"numpy", "pyarrow", "pyspark", "click", "rich", "cramjam", "isal", "zstandard"}
