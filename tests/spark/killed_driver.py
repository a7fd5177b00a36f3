"""`python -m tests.spark.killed_driver FOLDER`: a driver that copies the topic `input` to `output` in micro-batches."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.spark.sessions import start_session
from tests.spark.sink_runs import copy_stream

MOST = 30


def main(folder: str) -> None:
    session = start_session("local[2]", folder + "/spark")
    query = copy_stream(session, Path(folder), most=MOST)
    print("started", flush=True)
    query.awaitTermination()
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1])
