"""Apache Kafka's log as a library: log directories read, written and explained byte for byte.

The public names are listed here and imported when first used, so that a bare `import octavo` loads none of the
heavy dependencies.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if sys.platform == "win32":
    raise ImportError("octavo runs on Linux and macOS; Windows is not supported")

if TYPE_CHECKING:
    from octavo.errors import (
        ConfigError,
        CorruptionError,
        CorruptRecordError,
        DecompressionLimitError,
        EncodingError,
        InvalidRecordError,
        OctavoError,
        ScanError,
        UnsupportedCompressionTypeError,
    )

__version__ = "0.1.0"

__all__ = [
    "ConfigError",
    "CorruptRecordError",
    "CorruptionError",
    "DecompressionLimitError",
    "EncodingError",
    "InvalidRecordError",
    "OctavoError",
    "ScanError",
    "UnsupportedCompressionTypeError",
    "__version__",
]

_HOMES = {
    "ConfigError": "octavo.errors",
    "CorruptRecordError": "octavo.errors",
    "CorruptionError": "octavo.errors",
    "DecompressionLimitError": "octavo.errors",
    "EncodingError": "octavo.errors",
    "InvalidRecordError": "octavo.errors",
    "OctavoError": "octavo.errors",
    "ScanError": "octavo.errors",
    "UnsupportedCompressionTypeError": "octavo.errors",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'octavo' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
