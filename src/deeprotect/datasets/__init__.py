"""Public data sets by name: registry, verified downloads, and loading as a tidy table."""

from typing import TYPE_CHECKING, Any

from deeprotect.datasets import registry

if TYPE_CHECKING:
    from deeprotect.datasets.dataset import Dataset, save
    from deeprotect.datasets.fetching import fetch, load

_HOMES = {"Dataset": "dataset", "fetch": "fetching", "load": "fetching", "save": "dataset"}

__all__ = ["Dataset", "fetch", "load", "registry", "save"]


def __getattr__(name: str) -> Any:
    """Import on first use: listing the registry needs neither pyarrow nor pooch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'deeprotect.datasets' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"deeprotect.datasets.{_HOMES[name]}"), name)
