"""kcat, as people use it in a shell."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

import octavo
from octavo.broker.broker import Broker

pytestmark = pytest.mark.skipif(
    shutil.which("kcat") is None, reason="kcat is not installed (on Debian: apt-get install kcat)"
)


def kcat(broker: Broker, *arguments: str, stdin: str = "") -> str:
    line = ["kcat", "-b", broker.bootstrap_servers, "-X", "topic.metadata.propagation.max.ms=10000", *arguments]
    run = subprocess.run(line, input=stdin, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_produce_and_consume(broker: Broker, logs: octavo.LogDir, codec: str) -> None:
    logs.create_topic("t", 2)
    kcat(broker, "-P", "-t", "t", "-p", "1", "-K", ":", "-H", "from=kcat", "-z", codec, stdin="a:1\nb:2\n")
    shown = kcat(broker, "-C", "-t", "t", "-p", "1", "-o", "beginning", "-e", "-q", "-f", "%o %k=%s %h\n")
    assert shown == "0 a=1 from=kcat\n1 b=2 from=kcat\n"


def test_metadata_and_offsets(broker: Broker, logs: octavo.LogDir) -> None:
    logs.create_topic("t", 2)
    kcat(broker, "-P", "-t", "t", "-p", "0", stdin="x\n")
    shown = json.loads(kcat(broker, "-L", "-J"))
    assert [(topic["topic"], len(topic["partitions"])) for topic in shown["topics"]] == [("t", 2)]
    assert kcat(broker, "-Q", "-t", "t:0:-1") == "t [0] offset 1\n"
