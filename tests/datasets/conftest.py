"""The real archives where they are present, unpacked once per session into a temporary cache."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from deeprotect.datasets import Dataset, fetch, load, registry

Loader = Callable[[str], Dataset]
BESIDE_PROJECT = Path(__file__).parents[3] / "shared" / "datasets"


@pytest.fixture(scope="session")
def archives() -> Path:
    """The folder with NAME.tar.xz files: DEEPROTECT_DATASETS, or ../shared/datasets beside the project."""
    named = os.environ.get("DEEPROTECT_DATASETS")
    folder = Path(named) if named else BESIDE_PROJECT
    if not folder.is_dir():
        pytest.skip("set DEEPROTECT_DATASETS to a folder with the archives: hapt.tar.xz, tmd.tar.xz and the others")
    return folder


@pytest.fixture(scope="session")
def root_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Where a data set's files are; skips when its archive is not on this machine."""
    cache = tmp_path_factory.mktemp("cache")

    def root(name: str) -> Path:
        if registry.entry(name).package is not None:
            return fetch(name)
        folder = request.getfixturevalue("archives")
        if not (folder / f"{name}.tar.xz").is_file() and not (folder / name).is_dir():
            pytest.skip(f"put {name}.tar.xz into the folder that DEEPROTECT_DATASETS names")
        return fetch(name, source=folder, cache=cache)

    return root


@pytest.fixture(scope="session")
def loaded(root_of: Callable[[str], Path]) -> Loader:
    """A data set at its default rate, loaded once."""
    kept: dict[str, Dataset] = {}

    def loader(name: str) -> Dataset:
        if name not in kept:
            root = root_of(name)
            kept[name] = load(name) if registry.entry(name).package else load(name, directory=root)
        return kept[name]

    return loader
