"""The pytest plugin, in real runs of pytest: fixtures, scopes, markers, reports, xdist, asyncio."""

from __future__ import annotations

import os
import re
import shutil
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import aiokafka  # noqa: F401 (pytester drops modules that a run in this process was the first to import)
import confluent_kafka  # noqa: F401
import pytest

import octavo
import octavo.testing.kafka
from tests.testing.runs import LOADED, run

pytest_plugins = "pytester"


@pytest.fixture(autouse=True)
def same_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs import what this test imports, although they run in another folder."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    source = [str(Path(octavo.__file__).parents[1]), *(str(Path(path).absolute()) for path in given if path)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(source))


SLATES = """
    import pytest
    from confluent_kafka import Producer

    @pytest.mark.parametrize("number", range(3))
    def test_nothing_is_left(kafka, kafka_bootstrap_servers, number):
        assert kafka.bootstrap_servers == kafka_bootstrap_servers
        assert not kafka.logs.topics and not kafka.groups()
        producer = Producer({"bootstrap.servers": kafka_bootstrap_servers})
        producer.produce("orders", b"x")
        assert producer.flush(20) == 0
        assert [record.value for record in kafka.records("orders")] == [b"x"]
        kafka.faults.drop("Produce", times=None)
        kafka.clock.advance(days=1)
"""


def test_each_test_has_a_clean_slate(pytester: pytest.Pytester) -> None:
    result = run(pytester, SLATES)
    result.assert_outcomes(passed=3)


def test_each_worker_of_xdist_has_its_own_brokers(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SLATES)
    pytester.runpytest_subprocess(*LOADED, "-n", "2").assert_outcomes(passed=3)


def test_a_client_that_is_left_over_cannot_reach_the_next_test(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        from confluent_kafka import Producer
        left = []

        def test_leaves_a_producer(kafka):
            left.append(Producer({"bootstrap.servers": kafka.bootstrap_servers, "reconnect.backoff.ms": 1}))
            left[0].produce("orders", b"x")
            assert left[0].flush(20) == 0

        def test_does_not_see_it(kafka):
            left[0].produce("orders", b"y")
            left[0].poll(0.2)
            assert not kafka.logs.topics and not kafka.requests
        """,
    )
    result.assert_outcomes(passed=2)


def test_a_broker_can_live_as_long_as_the_session(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import pytest

        @pytest.fixture(scope="session")
        def application(kafka_bootstrap_servers):
            return kafka_bootstrap_servers

        def test_first(kafka, application):
            kafka.produce("orders", "x")

        def test_second(kafka, application):
            assert len(kafka.records("orders")) == 1
            assert kafka.logs.broker_config.num_partitions == 4
            kafka.reset()
            assert (kafka.bootstrap_servers, dict(kafka.logs.topics)) == (application, {})
        """,
        ini="kafka_scope = session\nkafka_configs =\n    num.partitions = 4\n",
    )
    result.assert_outcomes(passed=2)


def test_a_marker_says_what_a_test_begins_with(pytester: pytest.Pytester) -> None:
    with octavo.LogDir(pytester.path / "golden") as logs:
        logs.create_topic("orders", 1)
        logs.producer().send("orders", "kept")
    result = run(
        pytester,
        f"""
        import pytest

        @pytest.mark.kafka(start_from={str(pytester.path / "golden")!r}, configs={{"num.partitions": 5}})
        def test_marked(kafka):
            assert [record.value for record in kafka.records("orders")] == [b"kept"]
            assert kafka.logs.broker_config.num_partitions == 5

        def test_unmarked(kafka):
            assert not kafka.logs.topics
        """,
    )
    result.assert_outcomes(passed=2)


def test_a_misspelt_argument_of_the_marker_is_refused(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import pytest

        @pytest.mark.kafka(config={"num.partitions": 5})
        def test_marked(kafka):
            pass

        @pytest.mark.kafka({"num.partitions": 5})
        def test_marked_without_a_name(kafka):
            pass
        """,
    )
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*@pytest.mark.kafka has no argument 'config'; it has start_from and configs"])
    result.stdout.fnmatch_lines(["*@pytest.mark.kafka got {'num.partitions': 5}; name its arguments: *"])


def test_a_failed_test_without_requests_says_so(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_fails(kafka):\n    assert False")
    result.stdout.fnmatch_lines(["The log directory of this test is kept: *", "No client has sent a request."])


def test_the_directory_of_a_failed_test_is_kept_and_named(pytester: pytest.Pytester) -> None:
    base = pytester.path / "base"
    result = run(
        pytester,
        """
        def test_passes(kafka):
            kafka.produce("fine", "x")

        def test_fails(kafka):
            from confluent_kafka import Producer
            kafka.faults.fail("Produce", "REQUEST_TIMED_OUT")
            producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "client.id": "till"})
            producer.produce("orders", b"a coffee")
            producer.flush(20)
            assert kafka.records("orders") == []
        """,
        f"--basetemp={base}",
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.re_match_lines(
        [
            ".*- Kafka -.*",
            r"The log directory of this test is kept: .*",
            r"  octavo topics .*",
            r"  octavo cat .* --topic orders",
            r"  octavo explain .*/orders-0",
            r"The last requests:",
            r"  Produce v\d+ from till  <- REQUEST_TIMED_OUT",
        ]
    )
    found = re.search(r"is kept: (.*)", result.stdout.str())
    assert found is not None
    kept = Path(found[1])
    assert [record.value for record in octavo.scan(kept)] == [b"a coffee"]
    assert (kept / ".kafka_cleanshutdown").exists()
    kept_bases = [path.parent for path in base.glob("kafka*/logs") if not path.parent.is_symlink()]
    assert kept_bases == [kept.parent]


def test_the_directory_of_a_broker_that_a_test_made_itself_is_kept_too(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import pytest
        from octavo.testing import Kafka

        @pytest.fixture
        def mine():
            with Kafka() as kafka:
                yield kafka

        def test_fails(mine):
            mine.produce("orders", "a coffee")
            assert False
        """,
    )
    found = re.search(r"is kept: (.*)", result.stdout.str())
    assert found is not None
    assert octavo.scan(found[1]).count() == 1
    shutil.rmtree(Path(found[1]).parent)


def test_nothing_is_said_about_a_test_that_passes_or_has_no_broker(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_passes(kafka):\n    pass\n\ndef test_fails():\n    assert False", "-rA")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.no_fnmatch_line("*is kept*")


def test_unittest_classes_use_the_fixture(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import unittest
        import pytest

        class TestOrders(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def _kafka(self, kafka):
                self.kafka = kafka

            def test_one(self):
                self.kafka.produce("orders", "x")
                self.assertEqual(len(self.kafka.records("orders")), 1)

            def test_two(self):
                self.assertEqual(dict(self.kafka.logs.topics), {})
        """,
    )
    result.assert_outcomes(passed=2)


ASYNC = """
    import pytest
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

    MARK

    async def test_asynchronous(kafka, kafka_bootstrap_servers):
        kafka.topic("orders")
        async with AIOKafkaProducer(bootstrap_servers=kafka_bootstrap_servers) as producer:
            await producer.send_and_wait("orders", b"x")
        assert [record.value for record in kafka.records("orders")] == [b"x"]
        async with AIOKafkaConsumer(bootstrap_servers=kafka_bootstrap_servers) as consumer:
            consumer.assign([TopicPartition("orders", 0)])
            await consumer.seek_to_beginning()
            assert (await consumer.getone()).value == b"x"
        kafka.clock.advance(days=8)
        assert kafka.records("orders") == []
"""


@pytest.mark.skipif(find_spec("pytest_asyncio") is None, reason="pytest-asyncio is not installed")
def test_asynchronous_tests_use_the_fixture(pytester: pytest.Pytester) -> None:
    run(pytester, ASYNC.replace("MARK", ""), ini="asyncio_mode = auto").assert_outcomes(passed=1)


@pytest.mark.skipif(find_spec("anyio") is None, reason="anyio is not installed")
def test_tests_of_anyio_use_the_fixture(pytester: pytest.Pytester) -> None:
    marked = """pytestmark = pytest.mark.anyio

    @pytest.fixture
    def anyio_backend():
        return "asyncio"
    """
    loaded = ["-p", "anyio"] if not entry_points(group="pytest11", name="anyio") else []
    run(pytester, ASYNC.replace("MARK", marked), *loaded).assert_outcomes(passed=1)


def test_the_plugin_loads_nothing_heavy(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_without_a_broker():
            assert not {"numpy", "pyarrow", "octavo.broker", "octavo.testing.kafka"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess(*LOADED, "-p", "no:hypothesispytest").assert_outcomes(passed=1)


def test_the_marker_is_listed_with_its_meaning(pytester: pytest.Pytester) -> None:
    result = run(pytester, "", "--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.kafka(start_from=None, configs=None): *"])
