"""The read-only side: log directories and the records in them. It changes nothing and takes no lock.

The package bears the name of its main function: `octavo.scan("logs", …)` is `octavo.scan.api.scan("logs", …)`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from octavo.scan.api import scan

        return scan(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
