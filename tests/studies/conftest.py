"""Running `python -m studies` as in a clone, in a folder of its own."""

import pytest
from tests.cli.conftest import folder, in_process  # noqa: F401

from studies.__main__ import main


@pytest.fixture
def studies(folder, monkeypatch, capfdbinary):  # noqa: F811
    return in_process(main, folder, monkeypatch, capfdbinary)
