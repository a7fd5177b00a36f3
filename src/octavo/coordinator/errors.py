"""Why a coordinator refuses a request."""

from __future__ import annotations

from octavo.errors import OctavoError
from octavo.format.protocol.error_codes import ErrorCode


class RequestError(OctavoError):
    """A request that cannot be carried out."""

    def __init__(self, code: ErrorCode, problem: str | None = None) -> None:
        super().__init__(problem or code.name)
        self.code = code
        self.problem = problem
