"""Loading a data set by name."""

from importlib import import_module
from pathlib import Path
from typing import Any

from deeprotect.datasets import fetching, registry
from deeprotect.datasets.dataset import Dataset, tidy
from deeprotect.errors import DatasetError


def load(name: str, *, directory: Path | str | None = None, rate_hz: float | None = None) -> Dataset:
    """The tidy table of a data set that is in the cache or in `directory`; never downloads.

    A `rate_hz` below the recorded rate averages over each new sample's time cell, so nothing aliases.
    """
    entry = registry.entry(name)
    rate = entry.rate_hz if rate_hz is None else float(rate_hz)
    if not 0 < rate < float("inf"):
        raise DatasetError(f"rate_hz = {rate:g} must be a positive number")
    root = fetching.locate(name, None if directory is None else Path(directory))
    reader = _reader(name)
    table = tidy(reader.read(root, rate_hz=rate), reader.CHANNELS, labels=reader.LABELS, rate_hz=rate)
    if not table.num_rows:
        raise DatasetError(f"rate_hz = {rate:g} leaves no row of any recording; choose a higher one")
    return Dataset(name, table, tuple(reader.CHANNELS), tuple(reader.LABELS), rate, entry)


def _reader(name: str) -> Any:
    """The file of the same name: each has CHANNELS, LABELS and read(root, *, rate_hz)."""
    return import_module(f"deeprotect.datasets.{name}")
