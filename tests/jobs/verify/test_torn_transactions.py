"""A crash may come between an ABORT marker and its entry in the transaction index: that entry may then be missing."""

from __future__ import annotations

from pathlib import Path

import pytest

import octavo
from octavo.format.names import CLEAN_SHUTDOWN
from tests.cli.runs import octavo as command


@pytest.mark.parametrize(("is_clean", "is_last", "exit_code"), [(False, True, 0), (False, False, 1), (True, True, 1)])
def test_the_entry_of_the_last_marker_may_be_missing_without_a_clean_stop(
    tmp_path: Path, is_clean: bool, is_last: bool, exit_code: int
) -> None:
    with octavo.LogDir(tmp_path, background=False) as logs:
        logs.create_topic("t", 1)
        producer = logs.producer(transactional_id="x")
        producer.begin_transaction()
        producer.send("t", b"aborted")
        producer.flush()
        producer.abort_transaction()
        if not is_last:
            logs.producer().send("t", b"after it").result()
    if not is_clean:
        (tmp_path / CLEAN_SHUTDOWN).unlink()
    index = next((tmp_path / "t-0").glob("*.txnindex"))
    index.write_bytes(b"")
    run = command("verify", "--all", str(tmp_path))
    assert (run.exit, "missing-entry: no entry for producer" in run.stdout) == (exit_code, True)
