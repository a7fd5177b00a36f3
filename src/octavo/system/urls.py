"""Tells paths from URLs, shows a URL without what must stay secret, and makes paths of URLs."""

from __future__ import annotations

import re
from pathlib import PosixPath
from typing import Self
from urllib.parse import unquote, urlsplit

from octavo.errors import ScanError

# A single letter is not a scheme: Hadoop takes `x:/y` for a drive, so it is a folder here.
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/(?P<rest>.*)", re.DOTALL)
# Hadoop's connectors have their own names for S3.
_SAME_SCHEMES = {"s3a": "s3", "s3n": "s3"}
# A secret may hold a slash that should have been quoted, so everything up to the last @ is left out.
_CREDENTIALS = re.compile(r"(?<=:/)/?[^/?#]*[:@][^?#]*@")

_HARMLESS = {"region", "scheme", "endpoint_override", "retry_limit_seconds"}  # settings in a query that are not secrets


def local_path(place: str) -> str | None:
    """The local path that a path or a `file:` URL names; None for any other URL.

    Hadoop, and so Spark, writes a path as `file:/x` without quoting. In `file:///x` it is quoted, as in any URL.
    """
    match = _URL.match(place)
    if match is None:
        return place
    if match["scheme"].lower() != "file":
        return None
    if not match["rest"].startswith("/"):
        return f"/{match['rest']}"
    url = urlsplit(place)
    if url.netloc not in ("", "localhost"):
        raise ScanError(f"{shown_url(place)}: a file on another machine; give a path on this one, as in file:///logs")
    return unquote(url.path)


def whole_url(url: str) -> str:
    """A URL in full and with the usual scheme: Hadoop writes `hdfs:/x` for `hdfs:///x`, and `s3a:` for `s3:`."""
    scheme, _, rest = url.partition(":")
    return f"{_SAME_SCHEMES.get(scheme.lower(), scheme)}:{rest if rest.startswith('//') else f'//{rest}'}"


def shown_url(url: str) -> str:
    """A URL for a message: without user, password and query, which may hold keys and tokens."""
    return _CREDENTIALS.sub("/", url).partition("?")[0]


def without_secrets(message: str, url: str) -> str:
    """A library's message about a URL, as one line and without the URL's secrets."""
    line = next((line for line in message.splitlines() if line.strip()), "").strip()
    line = line.replace(url, shown_url(url))
    secrets = _secrets(url)
    return re.sub("|".join(map(re.escape, secrets)), "…", line) if secrets else line


def _secrets(url: str) -> list[str]:
    """User, password and what the query may hide, longest first: a message may quote each of them alone."""
    credentials = _CREDENTIALS.search(url)
    user, _, password = credentials[0].strip("/@").partition(":") if credentials else ("", "", "")
    pairs = [pair.partition("=") for pair in url.partition("?")[2].split("&")]
    found = {user, password, *(value for name, _, value in pairs if name not in _HARMLESS)}
    return sorted({*found, *map(unquote, found)} - {""}, key=len, reverse=True)


class UrlPath(PosixPath):
    """The path of a file at a URL, without the URL's secrets. Only a file system that knows the URL can open it."""

    def __str__(self) -> str:
        return super().__str__().replace(":/", "://", 1)  # a path has no empty parts

    def absolute(self) -> Self:
        """The path itself: no current directory comes before it."""
        return self
