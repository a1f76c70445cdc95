"""The version stands in pyproject.toml; npm and browsers need copies, which agree."""

import json
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COPIES = ["device/package.json", "browser/static/extension/manifest.json"]


@pytest.mark.parametrize("copy", COPIES)
def test_copies_of_the_version_agree_with_pyproject(copy):
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert json.loads((ROOT / copy).read_text())["version"] == version
