"""The pytest plugin: the fixtures `kafka` and `kafka_bootstrap_servers`.

Importing it must cost next to nothing, since pytest does that in every run; the broker is imported with the first test
that uses it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Literal, cast

import pytest

if TYPE_CHECKING:
    from octavo.testing.kafka import Kafka

_Scope = Literal["session", "package", "module", "class", "function"]
_MARKER = (
    "kafka(start_from=None, configs=None): begin the fixture `kafka` with a copy of a log directory, or with configs"
)
_SHOWN_REQUESTS = 30


def pytest_addoption(parser: pytest.Parser) -> None:
    scope = "how long a broker of the fixture `kafka` lives: function (default), class, module, package or session"
    parser.addini("kafka_scope", scope, default="function")
    parser.addini("kafka_configs", "broker configs of the fixture `kafka`, one name=value per line", type="linelist")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


def _scope(fixture_name: str, config: pytest.Config) -> _Scope:
    return cast(_Scope, config.getini("kafka_scope"))  # pytest itself refuses any other scope


@pytest.fixture(scope=_scope)
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """A new Kafka broker for this test alone (or for the scope that the ini option kafka_scope names).

    It has no topics, unless the marker `kafka` gives a log directory to start from.
    """
    from octavo.testing.kafka import Kafka

    marker = request.node.get_closest_marker("kafka")
    given = {} if marker is None else marker.kwargs
    if marker is not None and marker.args:
        raise TypeError(f"@pytest.mark.kafka got {marker.args[0]!r}; name its arguments: start_from= and configs=")
    unknown = given.keys() - {"start_from", "configs"}
    if unknown:
        raise TypeError(f"@pytest.mark.kafka has no argument {min(unknown)!r}; it has start_from and configs")
    lines = (line.partition("=") for line in request.config.getini("kafka_configs"))
    configs = {name.strip(): value.strip() for name, _, value in lines}
    configs.update(given.get("configs", {}))
    with Kafka(path=tmp_path_factory.mktemp("kafka"), configs=configs, start_from=given.get("start_from")) as broker:
        broker.is_temporary = True  # unless a test fails
        yield broker


@pytest.fixture(scope=_scope)
def kafka_bootstrap_servers(kafka: Kafka) -> str:
    """The address of the fixture `kafka`, for clients."""
    return kafka.bootstrap_servers


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the log directory of a failed test, and say how to look at it."""
    report = yield
    home = sys.modules.get("octavo.testing.kafka")
    if report.failed and call.when != "teardown" and home is not None:
        for used in getattr(item, "funcargs", {}).values():
            if isinstance(used, home.Kafka):
                used.is_temporary = False
                report.sections.append(("Kafka", _how_to_look(used)))
    return report


def _how_to_look(kafka: Kafka) -> str:
    path, topics = kafka.path, [topic for topic in kafka.logs.topics if not topic.startswith("__")]
    lines = [f"The log directory of this test is kept: {path}", f"  octavo topics {path}"]
    if topics:
        lines.append(f"  octavo cat {path} --topic {topics[0]}")
        lines.append(f"  octavo explain {path / f'{topics[0]}-0'}")
    if "__consumer_offsets" in kafka.logs.topics:
        lines.append(f"  octavo groups {path}")
    requests = kafka.last_requests(_SHOWN_REQUESTS).splitlines()
    lines.append("The last requests:" if requests else "No client has sent a request.")
    return "\n".join([*lines, *(f"  {line}" for line in requests)])
