"""Converts cramjam's errors to this package's errors."""

from __future__ import annotations

from cramjam import DecompressionError

from octavo.errors import InvalidRecordError


def invalid(error: BaseException, codec: str, position: int) -> InvalidRecordError:
    """The error for a stream that cramjam refused; an error that is not about the stream (an interrupt) is raised.

    The library is written in Rust and reports its own bugs as a panic, which is not an `Exception`. For the caller that
    is just another unreadable stream.
    """
    if isinstance(error, DecompressionError) or type(error).__name__ == "PanicException":
        return InvalidRecordError(f"broken {codec} stream: {error}", position=position)
    raise error
