"""What cramjam says about a stream, as this package's error."""

from __future__ import annotations

from cramjam import DecompressionError

from octavo.errors import InvalidRecordError


def invalid(error: BaseException, codec: str, position: int) -> InvalidRecordError:
    """The error for a stream that cramjam refused; whatever is not about the stream (an interrupt) goes on.

    The library is written in Rust and reports a bug of its own as a panic, which is no `Exception`: for the caller
    that is one more stream that could not be read.
    """
    if isinstance(error, DecompressionError) or type(error).__name__ == "PanicException":
        return InvalidRecordError(f"broken {codec} stream: {error}", position=position)
    raise error
