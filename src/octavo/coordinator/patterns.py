"""Regular expressions that clients send. They are RE2's, as in Kafka: no pattern takes more than linear time."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from itertools import accumulate

_ESCAPES = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)
_ANY_BYTE = r"\C"  # RE2 knows it, but Kafka's RE2/J does not


class BadPatternError(ValueError):
    """Text that is not a regular expression."""


def matching(names: Sequence[str], pattern: str) -> list[str]:
    """The names that match as a whole; raises BadPatternError."""
    if _ANY_BYTE in _ESCAPES.findall(pattern):
        raise BadPatternError(f"invalid escape sequence: {_ANY_BYTE}")
    import pyarrow as pa  # Arrow has RE2; a broker that gets no pattern need not load it
    import pyarrow.compute as pc

    encoded = [b"", *(name.encode() for name in names)]  # Arrow looks at a pattern only if there is something to match
    offsets = array("i", accumulate(map(len, encoded), initial=0))
    # Made of buffers, because `pa.array` would load pandas, if that is installed: 40 MB for nothing.
    column = pa.Array.from_buffers(
        pa.string(), len(encoded), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    )

    def matches(whole: str) -> list[bool]:
        try:
            return list(pc.match_substring_regex(column, whole).to_pylist())
        except pa.ArrowInvalid as error:
            raise BadPatternError(str(error).removeprefix("Invalid regular expression: ")) from None

    matches(pattern)  # first without the parentheses below, which could make an invalid pattern valid
    try:
        found = matches(rf"\A(?:{pattern})\z")
    except BadPatternError:  # after an open \Q, the closing parenthesis was literal
        found = matches(rf"\A(?:{pattern}\E)\z")
    return [name for name, is_match in zip(names, found[1:], strict=True) if is_match]
