"""Episodes of a live stream: when their draw is made, and which windows it listens to; each window informs one at most.

A file's episode is drawn from its own windows once it is whole. Live, nobody wants to wait so long: a draw listens to
the beginning of its episode, or to the end of the one before. docs/claims.md#draws-of-a-live-stream
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from deeprotect.errors import InputError
from deeprotect.release.pipe import Pipeline
from deeprotect.signals.episodes import Counts
from deeprotect.signals.schema import Floats

Draw = Callable[[Floats, Counts], Floats]
"""From the code of an episode and its number of windows to as many noisy codes; pays for it first."""
LISTEN = 3
"""Windows of an episode, where the policy does not say: as good as ten on the wrist data, and soon there."""
NOTHING: Floats = np.empty((0, 0))


@dataclass(frozen=True)
class Listening:
    """How many `windows` of an episode of `hold` a draw waits for, and what code it makes of them.

    A named promise rests on counts of codes as files make them: then a draw listens to a whole episode, in the same
    way. Any other promise is kept by arithmetic, whatever the code is made of.
    """

    bundle: Pipeline
    windows: int
    hold: int
    counted: bool

    @classmethod
    def of(cls, bundle: Pipeline, listen: int | None) -> Self:
        hold, counted = bundle.hold, bundle.mechanism.event.guarantee == "named"
        if listen is not None and counted:
            raise InputError("a named promise rests on draws that listen as the policy says; leave listen out")
        if listen is not None and not 1 <= listen <= hold.windows:
            raise InputError(f"listen = {listen} must be between 1 and the {hold.windows} windows of an episode")
        return cls(bundle, hold.windows if counted else listen or hold.listen, hold.windows, counted)

    def code(self, evidence: list[Floats]) -> Floats:
        """Of one episode, or of what there is of it."""
        return self.codes([evidence])

    def codes(self, episodes: Sequence[list[Floats]]) -> Floats:
        """Of several, in one call; each of them is at least one window."""
        evidence = np.concatenate([each for some in episodes for each in some])
        counts = np.array([len(some) for some in episodes])
        if not self.counted:
            return self.bundle.pool(evidence, counts)
        heard, heard_counts = self.bundle.hold.heard(counts)
        return self.bundle.pool(evidence[heard], heard_counts)


class Episodes(Protocol):
    """Takes one scaled window (1, time, channel) after the other; gives noisy codes of the windows that may leave."""

    def take(self, private: Floats) -> Floats: ...
    def finish(self) -> Floats: ...


class ListenToBeginning:
    """One draw for each episode once its first windows are there: those leave together, each other at once.

    With one window to an episode, this is a draw for each window, from itself.
    """

    def __init__(self, listening: Listening, draw: Draw) -> None:
        self._listening, self._draw = listening, draw
        self._evidence, self._held = list[Floats](), NOTHING
        self._place = 0  # of the next window in its episode

    def take(self, private: Floats) -> Floats:
        listening, first, self._place = self._listening, self._place, self._place + 1
        if first < listening.windows:
            self._evidence.append(listening.bundle.encode(private))
        if self._place == listening.windows:
            first, self._held = 0, self._begin(listening.hold)
        leaving = self._held[first : self._place]
        if self._place == listening.hold:
            self._place, self._held = 0, NOTHING
        return leaving

    def finish(self) -> Floats:
        """An episode that ends before its draw is drawn from what there is of it, as the last one of a file."""
        return self._begin(self._place) if self._evidence else NOTHING

    def _begin(self, windows: int) -> Floats:
        evidence, self._evidence = self._evidence, []
        return self._draw(self._listening.code(evidence), np.array([windows]))


class ListenBefore:
    """One draw at the start of each episode, from the last windows of the one before: no window waits for others.

    Nothing stands before the first episode: it is a placeholder, drawn without looking at a window.
    """

    def __init__(self, listening: Listening, draw: Draw, *, placeholder: Callable[[int], Floats]) -> None:
        self._listening, self._draw, self._placeholder = listening, draw, placeholder
        self._evidence, self._held = list[Floats](), NOTHING
        self._place = 0

    def take(self, private: Floats) -> Floats:
        listening, place = self._listening, self._place
        if place == 0:
            self._held = self._begin()
        if place >= listening.hold - listening.windows:
            self._evidence.append(listening.bundle.encode(private))
        self._place = (place + 1) % listening.hold
        return self._held[place : place + 1]

    def finish(self) -> Floats:
        """No window waits."""
        return NOTHING

    def _begin(self) -> Floats:
        evidence, self._evidence = self._evidence, []
        if not evidence:
            return self._placeholder(self._listening.hold)
        return self._draw(self._listening.code(evidence), np.array([self._listening.hold]))
