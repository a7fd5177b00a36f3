"""All diagrams, by their file names in docs/diagrams; `python -m tests.docs.diagrams.drawings` writes them again."""

from __future__ import annotations

from pathlib import Path

from tests.docs.diagrams import batch_bytes, compaction, index_lookup, log_directory, sink_commit, transaction

FOLDER = Path(__file__).parents[3] / "docs" / "diagrams"
DRAWINGS = {
    "batch-bytes": batch_bytes.draw,
    "compaction": compaction.draw,
    "index-lookup": index_lookup.draw,
    "log-directory": log_directory.draw,
    "sink-commit": sink_commit.draw,
    "transaction": transaction.draw,
}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in DRAWINGS.items():
        (FOLDER / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")
