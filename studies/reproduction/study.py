"""A study: a data set cut into windows, what an app may infer from it, and what nobody should."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.datasets.dataset import Dataset
from deeprotect.datasets.fetching import load
from deeprotect.datasets.registry import entry
from deeprotect.evaluation.methods import Setting
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows, read_windows


@dataclass(frozen=True)
class Study:
    """`hidden` are the sensitive classes to be hidden: windows of others carry no label of it; none means all.

    With `draws`, these are measured and not the usual ones: held, or scripts. `split` says what is tested; but for the
    usual one, whole recordings are read, windows between two labels included, as they would be in use.
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

    def load(self, directory: Path | None) -> Dataset:
        """From a folder of archives, but for what arrives with a package."""
        packaged = entry(self.dataset).package is not None
        return load(self.dataset, directory=None if packaged else directory, rate_hz=self.rate_hz)

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
