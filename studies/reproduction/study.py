"""A study: a data set cut into windows, with its useful and its sensitive inferences."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.datasets.dataset import Dataset
from deeprotect.datasets.fetching import load
from deeprotect.datasets.registry import entry
from deeprotect.evaluation.methods import Setting
from deeprotect.policy import Policy
from deeprotect.signals import Channel
from deeprotect.training.labelled_windows import LabelledWindows, read_windows


def _with_magnitude(data: Dataset, sensor: str) -> Dataset:
    """The length of a sensor's three axes as a channel under its name, with the range that theirs allow."""
    axes = [each for each in data.channels if each.name in {f"{sensor}_{axis}" for axis in "xyz"}]
    length = np.linalg.norm([data.table[each.name].to_numpy() for each in axes], axis=0)
    channel = Channel(sensor, axes[0].unit, 0.0, math.sqrt(sum(each.high**2 for each in axes)))
    table = data.table.append_column(sensor, pa.array(length))
    return replace(data, table=table, channels=(*data.channels, channel))


@dataclass(frozen=True)
class Study:
    """`hidden` are the sensitive classes to be hidden: windows of others carry no label of it; none means all.

    With `draws`, these are measured and not the usual ones: held, or scripts. `split` says what is tested; but for the
    usual one, whole recordings are read, windows between two labels included, as they would be in use. `tested` are
    values of a label whose recordings are tested. `magnitudes` are sensors that also have a channel of their length.
    """

    name: str
    dataset: str
    window: int
    useful: str
    sensitive: str | None
    people: str
    rate_hz: float | None = None
    channels: tuple[str, ...] = ()  # none: all
    classes: tuple[str, ...] = ()  # of the useful inference; none: all
    hidden: tuple[str, ...] = ()
    draws: tuple[Setting, ...] = ()
    orientation: str = "kept"
    owners: bool = False  # not who it is, but whether it is the owner, of whom everybody is one in turn
    split: SplitSpec = field(default_factory=SplitSpec)
    tested: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    magnitudes: tuple[str, ...] = ()

    def load(self, directory: Path | None) -> Dataset:
        """Load from a folder of archives, except data that comes with a package."""
        packaged = entry(self.dataset).package is not None
        data = load(self.dataset, directory=None if packaged else directory, rate_hz=self.rate_hz)
        for sensor in self.magnitudes:
            data = _with_magnitude(data, sensor)
        return data

    def split_of(self, data: Dataset) -> SplitSpec:
        """Add the table's numbers of the recordings to test."""
        if not self.tested:
            return self.split
        names = data.table["recording"].to_numpy()
        first = np.flatnonzero(np.append(True, names[1:] != names[:-1]))
        chosen = [np.isin(data.table[label].to_numpy()[first], values) for label, values in self.tested.items()]
        return replace(self.split, tested=tuple(np.flatnonzero(np.logical_or.reduce(chosen)).tolist()))

    def policy(self, data: Dataset) -> Policy:
        channels = {
            each.name: {"unit": each.unit, "range": [each.low, each.high]}
            for each in data.channels
            if not self.channels or each.name in self.channels
        }
        return Policy.from_tables(
            {
                "version": 1,
                "stream": {"rate_hz": data.rate_hz, "window": self.window, "channels": channels},
                "inferences": {"useful": [self.useful], "sensitive": [self.sensitive] if self.sensitive else []},
                "privacy": {"epsilon": 5.0, "mechanism": "channel"},
                "training": {"people": self.people, "orientation": self.orientation},
            }
        )

    def windows(self, data: Dataset, policy: Policy) -> LabelledWindows:
        """Windows that carry all labels of the study; all windows where whole recordings are tested."""
        windows = read_windows(data.table, policy, group=self.people)
        wanted = np.ones(len(windows), dtype=bool)
        if self.split.kind == "time":
            wanted &= np.logical_and.reduce([windows.labelled(name) for name in windows.labels])
        if self.classes:
            wanted &= np.isin(windows.labels[self.useful].astype(str), self.classes)
        return self._hiding(windows[wanted])

    def _hiding(self, windows: LabelledWindows) -> LabelledWindows:
        if self.sensitive is None or not self.hidden:
            return windows
        labels = windows.labels[self.sensitive].copy()
        labels[~np.isin(labels.astype(str), self.hidden)] = None
        return replace(windows, labels={**windows.labels, self.sensitive: labels})
