"""Make tests/data/validation.jsonl.xz again: what Kafka's LogValidator makes of each set of the validation matrix
(tests/storage/validation_cases.py).

`python -m tests.interop.make_validation_golden` (after `make kafka`); LogValidator of kafka-storage 4.3.1.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path

from tests.interop.jars import kafka_jars
from tests.interop.real_validator import RealValidator
from tests.storage.validation_case import Answer
from tests.storage.validation_cases import CASES

OUT = Path(__file__).parents[1] / "data" / "validation.jsonl.xz"


def written(answers: dict[str, Answer]) -> str:
    lines = ({"case": name, **answer._asdict(), "data": answer.data.hex()} for name, answer in answers.items())
    return "".join(json.dumps(line) + "\n" for line in lines)


if __name__ == "__main__":
    import jpype

    jpype.startJVM(classpath=[str(jar) for jar in kafka_jars("4.3.1")], convertStrings=False)
    kafka = RealValidator(jpype)
    answers = {name: kafka.validate(case) for name, case in CASES.items()}
    OUT.write_bytes(lzma.compress(written(answers).encode()))
