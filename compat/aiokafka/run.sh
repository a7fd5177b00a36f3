#!/usr/bin/env bash
# aiokafka's tests, without those of SASL and TLS, which need aiokafka's own container, and without those of assignors,
# since these tests have other names in every run.
cd "$(dirname "$0")" && . ../lib.sh
need git
source=$(sources aio-libs/aiokafka 672947afe85c91b7d953f0259e69837a711d3246)
environment pytest==9.0.2 pytest-asyncio==1.3.0 pytest-mock==3.15.1 docker==7.1.0 cramjam==2.11.0 async-timeout==5.0.1 \
    pytest-timeout typing_extensions packaging "setuptools>=77" cython
[[ -e $work/venv/.aiokafka ]] || {
    "$work/venv/bin/pip" install --quiet --no-build-isolation --editable "$source" >>"$work/pip.log" 2>&1
    touch "$work/venv/.aiokafka"
}
git -C "$source" checkout --quiet tests/conftest.py
cat fixtures.py.txt >>"$source/tests/conftest.py" # the later definition of a fixture wins
start_broker group.initial.rebalance.delay.ms=0 num.partitions=2
cd "$source"
export COMPAT_BROKER=$broker
pytest_run tests tests --docker-image x:2.8.1 --ignore tests/test_sasl.py \
    --ignore tests/coordinator/test_assignors.py \
    --deselect tests/test_consumer.py::TestConsumerIntegration::test_ssl_consume \
    --deselect tests/test_producer.py::TestKafkaProducerIntegration::test_producer_ssl \
    --deselect tests/test_helpers.py::test_create_ssl_context --timeout 90 --timeout-method=signal
finish
