"""Octavo's own small files: a JSON object with the version of its format."""

from __future__ import annotations

import json
from typing import Any

from octavo.errors import CorruptionError


def decode_object(data: bytes, version: int) -> dict[str, Any]:
    """Decode an object of this version."""
    try:
        content = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CorruptionError(f"expected a JSON object, found something that is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise CorruptionError(f"expected a JSON object, found {type(content).__name__}")
    if (found := content.get("version")) != version:
        given = f"version {found}" if isinstance(found, int) else "no version number"
        raise CorruptionError(f"expected a JSON object of version {version}, found {given}")
    return content


def encode_object(content: dict[str, Any]) -> bytes:
    """Encode an object as indented JSON, so that people can read it."""
    return (json.dumps(content, indent=1) + "\n").encode("utf-8")
