"""Regular expressions that clients send. They are RE2's, as in Kafka: no pattern takes more than linear time."""

from __future__ import annotations

from collections.abc import Sequence


def matching(names: Sequence[str], pattern: str) -> list[str] | None:
    """The names that match as a whole; None if the pattern is not a regular expression."""
    import pyarrow as pa  # Arrow has RE2; a broker that nobody sends a pattern to need not load it
    import pyarrow.compute as pc

    try:
        matches = pc.match_substring_regex(pa.array(names, pa.string()), rf"\A(?:{pattern})\z")
    except pa.ArrowInvalid:
        return None
    return [name for name, is_match in zip(names, matches.to_pylist(), strict=True) if is_match]
