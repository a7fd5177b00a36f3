"""Makes text harmless for a terminal: names and values come from files that anybody may have written.

Control characters (C0, DEL, C1) move the cursor, clear the screen or change what a terminal does; bidirectional ones
make text look like other text. They are printed as escapes, and so are bytes of a file name that are not UTF-8.
"""

from __future__ import annotations

import re

_ACTIVE = "\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_IN_LINES = re.compile(f"[\x00-\x1f{_ACTIVE}]")
_IN_CELLS = re.compile(f"[\x00-\x08\x0b-\x1f{_ACTIVE}]")  # a line break or tab within quotes is data
_IN_JSON = re.compile(f"[{_ACTIVE}]")  # JSON itself escapes the others
_CONTROLS = bytes([*range(9), *range(11, 32), 127])


def plain(text: str) -> str:
    """A line with visible escapes for everything that is not plain text, including line breaks."""
    return _IN_LINES.sub(_visible, text)


def plain_json(text: str) -> str:
    """The same JSON, with escapes for the control and bidirectional characters that JSON itself does not escape."""
    if text.isascii() and "\x7f" not in text:
        return text
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def plain_csv(text: str) -> str:
    """Rows with visible escapes; line breaks and tabs stay."""
    if text.isascii() and len(text.encode().translate(None, _CONTROLS)) == len(text):
        return text
    return _IN_CELLS.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
