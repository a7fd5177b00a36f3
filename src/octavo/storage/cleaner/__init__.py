"""Compaction: of each key the last record stays. Decided in values (`range`, `group`, `verdicts`), done in `clean`."""
