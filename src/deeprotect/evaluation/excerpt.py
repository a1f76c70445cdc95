"""A stretch of one channel for a figure, raw and as each mechanism releases it; an average, unless raw data is asked
for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deeprotect.signals import Channel, Schema
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import LabelledWindows

SHOWN_WINDOWS = 10
FEWEST_AVERAGED = 5  # people (or recordings, if people are unknown) in a mean
Shows = Literal["average", "public", "raw"]


@dataclass(frozen=True)
class Excerpt:
    """Consecutive windows (window, value), the channel to draw, and released windows by name of their line.

    `epsilon` is that of the release; `shows` and `origin` describe the windows.
    """

    windows: Floats
    schema: Schema
    place: int
    epsilon: float
    shows: Shows
    origin: str
    released: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def channel(self) -> Channel:
        return self.schema.channels[self.place]

    def line(self, windows: Floats) -> Floats:
        """Consecutive samples of the channel, in its unit."""
        samples = windows.reshape(-1, self.schema.window, len(self.schema.channels))
        return self.schema.unscale(samples)[:, :, self.place].ravel()


Choose = Callable[[LabelledWindows, Schema, float], Excerpt | None]
"""Makes an excerpt from test windows, their schema and an ε; None if nothing may be shown."""


def average(test: LabelledWindows, schema: Schema, epsilon: float) -> Excerpt | None:
    """The mean over people of the first windows of their runs, so that no person's samples are shown."""
    runs = neighbouring(test)
    shown = next((count for count in range(SHOWN_WINDOWS, 0, -1) if _people_with(runs, test, count)), 0)
    people = _people_with(runs, test, shown) if shown else {}
    if not people:
        return None
    means = [np.mean([test.flat[run[:shown]] for run in several], axis=0) for several in people.values()]
    who = "recordings" if test.person is None else "people"
    return Excerpt(
        np.mean(means, axis=0), schema, _liveliest(test), epsilon, "average", f"the mean of {len(people)} {who}"
    )


def one_recording(test: LabelledWindows, schema: Schema, epsilon: float) -> Excerpt:
    """The channel that varies most, in the run where it varies most among the runs long enough to show."""
    runs, place = neighbouring(test), _liveliest(test)
    enough = min(SHOWN_WINDOWS, max(map(len, runs)))
    chosen = max((run for run in runs if len(run) >= enough), key=lambda run: test.samples[run][:, :, place].std())
    return Excerpt(test.flat[chosen[:SHOWN_WINDOWS]], schema, place, epsilon, "raw", "one recording of the table")


def neighbouring(windows: LabelledWindows) -> list[NDArray[np.int64]]:
    """Numbers of windows, in runs that are consecutive in time."""
    borders = np.flatnonzero(~windows.followed[:-1]) + 1
    return np.split(np.arange(len(windows)), borders)


def _people_with(
    runs: list[NDArray[np.int64]], test: LabelledWindows, count: int
) -> dict[int, list[NDArray[np.int64]]]:
    """Runs of at least `count` windows by person; empty if there are too few people to hide in."""
    found: dict[int, list[NDArray[np.int64]]] = {}
    for run in runs:
        if len(run) >= count:
            found.setdefault(int(test.people[run[0]]), []).append(run)
    return found if len(found) >= FEWEST_AVERAGED else {}


def _liveliest(test: LabelledWindows) -> int:
    return int(test.samples.std(axis=(0, 1)).argmax())
