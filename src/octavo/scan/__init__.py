"""The read-only side: log directories and the records in them. It changes nothing and takes no lock.

The package bears the name of its main function: `octavo.scan("logs", …)` is `octavo.scan.api.scan("logs", …)`.
"""

from __future__ import annotations

import sys

from octavo.scan.callable_module import CallableModule

sys.modules[__name__].__class__ = CallableModule
