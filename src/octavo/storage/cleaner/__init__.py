"""Compaction keeps the last record of each key. `range`, `group` and `verdicts` decide, `clean` acts."""
