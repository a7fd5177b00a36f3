"""Regular expressions that clients send. They are RE2's, as in Kafka: no pattern takes more than linear time."""

from __future__ import annotations

from collections.abc import Sequence


class BadPatternError(ValueError):
    """Text that is not a regular expression."""


def matching(names: Sequence[str], pattern: str) -> list[str]:
    """The names that match as a whole; raises BadPatternError."""
    import pyarrow as pa  # Arrow has RE2; a broker that nobody sends a pattern to need not load it
    import pyarrow.compute as pc

    def matches(whole: str) -> list[bool]:
        try:
            return list(pc.match_substring_regex(pa.array(names, pa.string()), whole).to_pylist())
        except pa.ArrowInvalid as error:
            raise BadPatternError(str(error).removeprefix("Invalid regular expression: ")) from None

    matches(pattern)  # alone: brackets around it could complete what is incomplete
    try:
        found = matches(rf"\A(?:{pattern})\z")
    except BadPatternError:  # what follows an open \Q is literal
        found = matches(rf"\A(?:{pattern}\E)\z")
    return [name for name, is_match in zip(names, found, strict=True) if is_match]
