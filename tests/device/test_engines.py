"""Every engine computes, draws, waits and charges as Python does, bit by bit on shared vectors."""

import re

import pytest
from tests.device.engines import ENGINES
from tests.device.test_node import built  # noqa: F401

CHECKS = 45


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_does_what_python_does(name, built):  # noqa: F811
    engine = ENGINES[name]
    said = engine.run(engine.built("engine")).splitlines()
    assert not [line for line in said if not re.match(r"ok |\d+ checks$", line)]
    assert said[-1] == f"{CHECKS} checks"
    assert len(said) == CHECKS + 1
