"""S3 as simulated by moto's server, for the tests that read URLs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import boto3
from moto.server import ThreadedMotoServer

KEY, SECRET = "AKIAOCTAVO", "s3cr3t/of/octavo"  # with unquoted slashes: half of all real secrets have some
BUCKET = "octavo"


class Server:
    """A server with one bucket; `query` is the end of its URLs."""

    def __init__(self, address: str) -> None:
        self.query = f"scheme=http&endpoint_override={address}&region=us-east-1"
        self._client: Any = boto3.client(
            "s3", endpoint_url=f"http://{address}", region_name="us-east-1",
            aws_access_key_id=KEY, aws_secret_access_key=SECRET,
        )  # fmt: skip
        self._client.create_bucket(Bucket=BUCKET)

    def put(self, folder: str, root: Path, most_bytes: int | None = None) -> None:
        """Upload all files below a root, or at most the first `most_bytes` of each."""
        for file in sorted(root.rglob("*")):
            if file.is_file():
                name = f"{folder}/{file.relative_to(root)}"
                self._client.put_object(Bucket=BUCKET, Key=name, Body=file.read_bytes()[:most_bytes])

    def state(self) -> dict[str, tuple[str, object]]:
        """Every object's digest and modification time."""
        listed = self._client.list_objects_v2(Bucket=BUCKET)["Contents"]
        return {row["Key"]: (row["ETag"], row["LastModified"]) for row in listed}

    def url(self, path: str, scheme: str = "s3") -> str:
        return f"{scheme}://{BUCKET}/{path}?{self.query}"


@contextmanager
def s3_server() -> Iterator[Server]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    try:
        address = "{}:{}".format(*server.get_host_and_port())
        urlopen(Request(f"http://{address}/moto-api/reset", method="POST")).close()  # a process's servers share buckets
        yield Server(address)
    finally:
        server.stop()
