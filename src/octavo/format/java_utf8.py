"""Bytes as Java shows them: UTF-8 in which whatever is malformed becomes U+FFFD."""

from __future__ import annotations

import re

# Half of a surrogate pair, encoded as if it were a character. Java takes it for one malformed character, Python for
# two or three. In all other cases they agree on how far one malformed character reaches.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_REPLACEMENT = "�".encode()


def decode_utf8(data: bytes) -> str:
    """The text of `new String(data, UTF_8)`."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _SURROGATE.sub(_REPLACEMENT, data).decode("utf-8", "replace")
