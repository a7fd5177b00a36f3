"""Compaction keeps the last record of each key. `range` and `verdicts` decide, `clean` acts."""
