"""The device runtime's own tests in node, through the one test command."""

import pytest
from tests.node_packages import NodePackage

DEVICE = NodePackage("device")


@pytest.fixture(scope="session")
def built():
    DEVICE.build()


@pytest.mark.long
@pytest.mark.parametrize("name", DEVICE.tests)
def test_device(name, built):
    DEVICE.test(name)
