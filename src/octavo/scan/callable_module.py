"""A package that bears the name of its main function, and can be called as that."""

from __future__ import annotations

from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """`octavo.scan("logs", …)` is `octavo.scan.api.scan("logs", …)`, which is imported when it is first called."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from octavo.scan.api import scan

        return scan(*arguments, **options)
