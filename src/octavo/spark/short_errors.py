"""Errors as a Spark user should see them: the sentence, without the frames of the code that found the problem."""

from __future__ import annotations

from contextlib import ContextDecorator

from octavo.errors import OctavoError


class _ShortErrors(ContextDecorator):
    """Lets Octavo's own errors leave a block, or a method that Spark calls, without a long traceback; others keep
    theirs."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, OctavoError):
            raise error.with_traceback(None) from None


short_errors = _ShortErrors()
