"""Episodes of a live stream: when their draw is made, and which windows it listens to; each window informs one at most.

A file's episode is drawn from its own windows once it is whole. Live, nobody wants to wait so long: a draw listens to
the episode before, which costs no time, or to the beginning of its own. docs/claims.md#draws-of-a-live-stream
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from deeprotect.release.pipe import Pipeline
from deeprotect.signals.episodes import Counts
from deeprotect.signals.schema import Floats

Draw = Callable[[Floats, Counts], Floats]
"""From the code of an episode and its number of windows to as many noisy codes; pays for it first."""
NOTHING: Floats = np.empty((0, 0))


class Episodes(Protocol):
    """Takes one scaled window (1, time, channel) after the other; gives noisy codes of the windows that may leave."""

    def take(self, private: Floats) -> Floats: ...
    def finish(self) -> Floats: ...


class ListenBefore:
    """One draw at the start of each episode, from those windows of the one before that a file's draw listens to.

    So a draw has the code that a file's release gives the episode before, and what was counted for a named promise
    counts here, too. Nothing stands before the first episode: it is a placeholder, drawn without looking at a window.
    """

    def __init__(self, bundle: Pipeline, draw: Draw, *, placeholder: Callable[[int], Floats]) -> None:
        self._bundle, self._draw, self._placeholder = bundle, draw, placeholder
        self._windows = bundle.hold.windows
        self._heard_places = set(bundle.hold.heard(np.array([self._windows]))[0].tolist())
        self._evidence, self._held = list[Floats](), NOTHING
        self._place = 0  # of the next window in its episode

    def take(self, private: Floats) -> Floats:
        place, self._place = self._place, (self._place + 1) % self._windows
        if place == 0:
            self._held = self._begin()
        if place in self._heard_places:
            self._evidence.append(self._bundle.encode(private))
        return self._held[place : place + 1]

    def finish(self) -> Floats:
        """No window waits."""
        return NOTHING

    def _begin(self) -> Floats:
        evidence, self._evidence = self._evidence, []
        if not evidence:
            return self._placeholder(self._windows)
        return self._draw(_code(self._bundle, evidence), np.array([self._windows]))


class ListenToBeginning:
    """One draw for each episode once its first `listen` windows are there: those leave together, each other at once.

    With one window to an episode, this is a draw for each window, from itself.
    """

    def __init__(self, bundle: Pipeline, draw: Draw) -> None:
        self._bundle, self._draw = bundle, draw
        self._evidence, self._held = list[Floats](), NOTHING
        self._place = 0

    def take(self, private: Floats) -> Floats:
        hold, self._place = self._bundle.hold, self._place + 1
        if self._place <= hold.listen:
            self._evidence.append(self._bundle.encode(private))
        first = self._place - 1
        if self._place == hold.listen:
            first, self._held = 0, self._begin(hold.windows)
        leaving = self._held[first : self._place]
        if self._place == hold.windows:
            self._place, self._held = 0, NOTHING
        return leaving

    def finish(self) -> Floats:
        """An episode that ends before its draw is drawn from what there is of it, as the last one of a file."""
        return self._begin(self._place) if self._evidence else NOTHING

    def _begin(self, windows: int) -> Floats:
        evidence, self._evidence = self._evidence, []
        return self._draw(_code(self._bundle, evidence), np.array([windows]))


def _code(bundle: Pipeline, evidence: list[Floats]) -> Floats:
    """One code from the evidence of the windows that were listened to."""
    return bundle.pool(np.concatenate(evidence), np.array([len(evidence)]))
