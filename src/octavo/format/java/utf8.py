"""Decodes bytes like Java: UTF-8 in which malformed bytes become U+FFFD."""

from __future__ import annotations

from octavo.kernels.reference.text import java_text


def decode_utf8(data: bytes) -> str:
    """The text of `new String(data, UTF_8)`."""
    return java_text(data).decode("utf-8")
