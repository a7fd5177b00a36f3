"""A broker in the test's process, with its own directory; pairs of a real broker and ours, which test files share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import octavo
from octavo.broker.broker import Broker
from octavo.format.protocol import apis
from tests.broker.acl_twin import AclTwin
from tests.broker.group_twin import CONFIGS, TOPICS, Group, GroupTwin
from tests.broker.raw import RawClient
from tests.broker.requests import TIME_MS, batch, produced
from tests.broker.twin import Twin


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[octavo.LogDir]:
    with octavo.LogDir(tmp_path / "logs", create=True) as logs:
        yield logs


@pytest.fixture
def broker(logs: octavo.LogDir) -> Iterator[Broker]:
    with Broker(logs) as running:
        yield running


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    with RawClient(broker.address) as connected:
        yield connected


@pytest.fixture(scope="package")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    with Twin.started(tmp_path_factory.mktemp("twin"), {"t": 2, "timed": 1, "empty": 1, "probed": 1}) as both:
        for number in range(3):
            both.ask(apis.PRODUCE, 9, produced("t", 0, batch(f"{number}", TIME_MS + number)))
        yield both


@pytest.fixture(scope="package")
def group_twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GroupTwin]:
    with GroupTwin.started(tmp_path_factory.mktemp("groups"), TOPICS, CONFIGS) as both:
        both.wait_for_coordinators()
        yield both


@pytest.fixture
def group(group_twin: GroupTwin) -> Group:
    """A group that no other test uses."""
    return Group(group_twin)


@pytest.fixture(scope="package")
def running_acl_twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AclTwin]:
    with AclTwin.secured(tmp_path_factory.mktemp("acls")) as both:
        yield both


@pytest.fixture
def acl_twin(running_acl_twin: AclTwin) -> AclTwin:
    """Both brokers, without ACLs."""
    running_acl_twin.delete_acls()
    return running_acl_twin
