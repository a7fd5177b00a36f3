"""Every test that uses `kernels` runs twice: on the compiled kernels and on their plain-Python twins."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.kernels import implementations


@pytest.fixture(params=["compiled", "reference"])
def kernels(request: pytest.FixtureRequest) -> SimpleNamespace:
    return implementations.load(request.param)


@pytest.fixture
def both() -> tuple[SimpleNamespace, SimpleNamespace]:
    """The compiled kernels and the twins, for tests that compare them."""
    return implementations.both()
