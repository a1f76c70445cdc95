"""The scripts in the wheel are what their sources give: built again here, they are the same bytes."""

import pytest
from tests.node_packages import NodePackage

from deeprotect.exporting.targets import FILES

PACKAGES = {"device": NodePackage("device"), "browser": NodePackage("browser", also=["device"])}


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", PACKAGES)
def test_the_wheel_carries_what_the_sources_give(name):
    PACKAGES[name].build()
    built = contents(PACKAGES[name].folder / "out" / "files")
    carried = {
        path: text for path, text in contents(FILES).items() if path.split("/")[0] in {p.split("/")[0] for p in built}
    }
    assert built == carried, "build them again: make scripts"


def test_nothing_else_is_carried():
    assert {path.name for path in FILES.iterdir()} == {"device", "extension", "embedded"}
