"""The browser's own tests, in node and in a real Chromium, through the one test command."""

import pytest
from tests.node_packages import NodePackage

BROWSER = NodePackage("browser", also=["device"])


@pytest.fixture(scope="session")
def built():
    BROWSER.build()


LONG = {"hostile", "stock", "extension", "natives"}  # a whole Chromium for each of many pages


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in BROWSER.tests]
)
@pytest.mark.timeout(1500)
def test_browser(name, built):
    BROWSER.test(name)
