"""Errors as a Spark user should see them: the sentence, without the frames of the code that found the problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar

from octavo.errors import OctavoError

Parameters = ParamSpec("Parameters")
_Result = TypeVar("_Result")


def short_errors(method: Callable[Parameters, _Result]) -> Callable[Parameters, _Result]:
    """Make a method that Spark calls raise Octavo's own errors without a long traceback; other errors keep theirs."""

    @wraps(method)
    def call(*arguments: Parameters.args, **named: Parameters.kwargs) -> _Result:
        try:
            return method(*arguments, **named)
        except OctavoError as error:
            raise error.with_traceback(None) from None

    return call


def short_errors_in(items: Iterator[_Result]) -> Iterator[_Result]:
    """The same for errors raised while iterating."""
    try:
        yield from items
    except OctavoError as error:
        raise error.with_traceback(None) from None
