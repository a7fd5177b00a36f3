"""Write the generated parts of pages in docs/ from the code: configs, commands, findings, the API.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`. `python -m tests.docs.generated` (`make docs`)
writes the parts again; a test fails when a page differs from what this would write.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import cast

import click

import octavo
import octavo.spark
import octavo.testing
from octavo.broker.handlers import HANDLERS
from octavo.cli.command_table import COMMANDS
from octavo.cli.examples import EXAMPLES
from octavo.cli.group import octavo as octavo_group
from octavo.client.consumer.config import CONSUMER_CONFIGS
from octavo.client.producer.config import PRODUCER_CONFIGS
from octavo.config import BROKER_CONFIGS, TOPIC_CONFIGS, ConfigKey
from octavo.format.protocol.apis import APIS
from octavo.jobs.verify.finding import FindingKind
from octavo.spark.query.options import SOURCE_OPTIONS, Option
from octavo.spark.sink.options import SINK_OPTIONS
from tests.docs.api_reference import api_reference

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    DOCS / "broker.md",
    DOCS / "clients.md",
    DOCS / "configuration.md",
    DOCS / "command-reference.md",
    DOCS / "commands" / "verify.md",
    DOCS / "reference" / "python.md",
    DOCS / "reference" / "spark.md",
    DOCS / "reference" / "testing.md",
    DOCS / "spark-sink.md",
    DOCS / "spark-source.md",
]
PART = re.compile(r"(?<=<!-- generated: )(?P<name>[a-z ]+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)


def table(*rows: Iterable[str]) -> str:
    """A Markdown table; the first row is its head."""
    head, *body = ([f" {cell} ".replace("|", r"\|") if cell else " " for cell in row] for row in rows)
    return "".join(f"|{'|'.join(row)}|\n" for row in (head, ["---"] * len(head), *body))


def configs(keys: Mapping[str, ConfigKey], *, with_synonyms: bool) -> str:
    head = ["config", "type", "default", "range", "meaning", *(["broker synonyms"] if with_synonyms else [])]
    rows = []
    for key in keys.values():
        synonyms = [", ".join(f"`{synonym.name}`{str(synonym)[len(synonym.name) :]}" for synonym in key.synonyms)]
        doc = f"{key.doc} (internal)" if key.internal else key.doc
        cells = [f"`{key.name}`", key.kind.name, key.default_text, str(key.valid), doc]
        rows.append([*cells, *(synonyms if with_synonyms else [])])
    return table(head, *rows)


def spark_options(rows: Iterable[Option]) -> str:
    head = ("option", "default", "in", "meaning")
    return table(head, *((f"`{row.name}`", row.default, row.scope, row.meaning) for row in rows))


def click_command(name: str) -> click.Command:
    """A command as click knows it; a verbatim one as its completion module declares it."""
    row = COMMANDS[name]
    return cast("click.Command", import_module(row.completion or row.module).command)


def options(command: click.Command, context: click.Context, prefix: str = "") -> list[tuple[str, str]]:
    """Each option with its description; those that every command has are listed once."""
    told = [] if command is octavo_group else ["--debug", "--help"]
    records = [
        param.get_help_record(context)
        for param in command.get_params(context)
        if isinstance(param, click.Option) and not set(param.opts) & set(told)
    ]
    return [(f"`{prefix}{names}`", meaning) for names, meaning in filter(None, records)]


def sections() -> Iterator[str]:
    """One section per command: usage, help, options."""
    for name, row in COMMANDS.items():
        command = click_command(name)
        context = click.Context(command, info_name=f"octavo {name}")
        usage = " ".join([f"octavo {name}", *command.collect_usage_pieces(context)])
        text = inspect.cleandoc(command.help or row.summary)
        own = options(command, context)
        listed = table(("option", "meaning"), *own) if own else ""
        examples = "".join(f"{line}\n" for line in EXAMPLES.get(name, ()))
        shown = f"```sh\n{examples}```\n" if examples else ""
        yield "\n".join(filter(None, [f"## octavo {name}\n", f"```\n{usage}\n```\n", f"{text}\n", listed, shown]))


def overview() -> str:
    commands = [(f"[`octavo {name}`](#octavo-{name})", row.summary) for name, row in COMMANDS.items()]
    everywhere = options(
        octavo_group, click.Context(octavo_group, info_name="octavo", **octavo_group.context_settings), "octavo "
    )
    return table(("command", "does"), *commands, *everywhere)


def unlike_kafka(key: int) -> str:
    """What the docstring of an API's file says about differences from Kafka."""
    doc = sys.modules[HANDLERS[key].__module__].__doc__ or ""
    said = re.search(r"^Unlike Kafka: (.*?)(?=\n\n|\Z)", doc.strip(), re.MULTILINE | re.DOTALL)
    return said[1].replace("\n", " ") if said else ""


def parts() -> dict[str, str]:
    return {
        "topic configs": configs(TOPIC_CONFIGS, with_synonyms=True),
        "broker configs": configs(BROKER_CONFIGS, with_synonyms=False),
        "producer configs": configs(PRODUCER_CONFIGS, with_synonyms=False),
        "consumer configs": configs(CONSUMER_CONFIGS, with_synonyms=False),
        "findings": table(("kind", "what it is"), *((f"`{kind}`", kind.meaning) for kind in FindingKind)),
        "sink options": spark_options(SINK_OPTIONS),
        "source options": spark_options(SOURCE_OPTIONS),
        "apis": table(
            ("key", "API", "versions", "unlike Kafka"),
            *((str(key), api.name, str(api.versions), unlike_kafka(key)) for key, api in sorted(APIS.items())),
        ),
        "python api": api_reference(octavo),
        "spark api": api_reference(octavo.spark),
        "testing api": api_reference(octavo.testing),
        "overview": overview(),
        "commands": "\n".join(sections()),
    }


def written(page: str) -> str:
    """The page with its generated parts up to date."""
    found = parts()
    return PART.sub(lambda part: f"{part['name']}{part[2]}\n{found[part['name']]}\n", page)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
