"""Cuts rows into windows and episodes, never across recordings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deeprotect.signals.schema import Floats

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Hold:
    """One draw for `windows` windows, made from `listen` of them, spread evenly over the episode."""

    windows: int = 1
    listen: int = 1

    @property
    def per(self) -> str:
        """What one draw covers: a window or an episode."""
        return "window" if self.windows == 1 else "episode"

    def heard(self, counts: Counts) -> tuple[NDArray[np.int64], Counts]:
        """Which windows a draw looks at, and how many in each episode, for episodes of the given lengths.

        A last episode may be short, and is then looked at over its own length; lengths are public.
        """
        if counts.max(initial=0) <= self.listen:
            return np.arange(counts.sum()), counts
        starts = np.cumsum(counts) - counts
        places = [_spread(int(length), self.listen) + starts[counts == length, None] for length in np.unique(counts)]
        every = np.concatenate([place.ravel() for place in places]) if places else np.empty(0, dtype=np.int64)
        return np.sort(every), np.minimum(counts, self.listen)


def _spread(length: int, listen: int) -> NDArray[np.int64]:
    """The middles of `listen` equal parts, or every place if there are no more than `listen`."""
    parts = min(length, listen)
    return (2 * np.arange(parts, dtype=np.int64) + 1) * length // (2 * parts)


def run_lengths(episodes: NDArray[np.int64]) -> Counts:
    """The number of windows of each episode, from the episode of each window, in order."""
    if not len(episodes):
        return np.empty(0, dtype=np.int64)
    borders = np.flatnonzero(np.diff(episodes)) + 1
    return np.diff(np.concatenate([[0], borders, [len(episodes)]]))


Integers = NDArray[np.int64]


class RecordingName(NamedTuple):
    """A recording's name in a table with a column of people; without recordings, each person has one."""

    person: str
    name: str | None

    def __str__(self) -> str:
        """The form in keys of ledgers, in all versions; a person's name has no line break."""
        return self.person if self.name is None else f"{self.person}\n{self.name}"


@dataclass(frozen=True)
class Run:
    """Consecutive draws of one recording, numbered from 0 at its start; text, so that 1 and "1" are one name."""

    recording: str | RecordingName
    first: int
    count: int


@dataclass(frozen=True)
class Frame:
    """Public facts of a batch: for each window, how many samples are not padding, its first source row, its episode.

    Episodes are numbered through the source, and a batch holds whole episodes; without `episodes`, each window is one.
    `runs` number the draws in order; empty if no ledger has to recognise them.
    """

    lengths: Integers
    first_rows: Integers
    episodes: Integers | None = None
    runs: tuple[Run, ...] = ()

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def windows_of_episodes(self) -> Integers:
        """The number of windows of each episode in the batch, in order."""
        return np.ones(len(self), dtype=np.int64) if self.episodes is None else run_lengths(self.episodes)


@dataclass(frozen=True)
class Windows:
    """Windows that do not overlap; `samples` is (window, time, channel), in units or scaled."""

    samples: Floats
    frame: Frame

    def __len__(self) -> int:
        return len(self.frame)

    def rows(self) -> Floats:
        """The samples as table rows (row, channel), without padding."""
        count, time, channels = self.samples.shape
        if (self.frame.lengths == time).all():
            return self.samples.reshape(count * time, channels)
        return self.samples[np.arange(time) < self.frame.lengths[:, None]]


class Windower:
    """Takes rows as they arrive and returns windows once their episode is full; a recording's last window is padded.

    An episode is `hold` windows counted from the recording's start; a recording's last one may be shorter.
    """

    def __init__(self, window: int, channels: int, *, hold: int = 1) -> None:
        self._window = window
        self._hold = hold
        self._next_episode = 0
        self._held = np.empty((0, channels))
        self._held_recording: object = None
        self._next_row = 0  # the first row that is held back or has not arrived
        self._next_draw = 0  # of the recording

    def push(self, samples: Floats, recording: NDArray[np.generic] | None = None) -> Windows:
        """Add rows (row, channel) with their recording names; returns the windows that are now complete."""
        pieces = list(self._pieces(samples, recording))
        cut = []
        for index, (name, piece) in enumerate(pieces):
            if self._held.shape[0] and name != self._held_recording:
                cut.append(self._flush())
            if name != self._held_recording:
                self._held_recording, self._next_draw = name, 0
            # If nothing is held back, the piece keeps its layout in memory: a channel's samples may be contiguous.
            self._held = np.concatenate([self._held, piece]) if self._held.shape[0] else piece
            cut.append(self._full())
            if index + 1 < len(pieces):
                cut.append(self._flush())
        return _join(cut, self._window, self._held.shape[1])

    def finish(self) -> Windows:
        """The padded tail of the last recording, if there is one."""
        return self._flush()

    @staticmethod
    def _pieces(samples: Floats, recording: NDArray[np.generic] | None) -> Iterator[tuple[object, Floats]]:
        if recording is None:
            yield None, samples
            return
        borders = np.flatnonzero(recording[1:] != recording[:-1]) + 1
        for start, stop in zip([0, *borders], [*borders, len(samples)], strict=True):
            if stop > start:
                yield recording[start], samples[start:stop]

    def _full(self) -> Windows:
        count = self._held.shape[0] // (self._window * self._hold) * self._hold
        return self._take(count, self._held)

    def _flush(self) -> Windows:
        count = -(-self._held.shape[0] // self._window)
        padding = np.repeat(self._held[-1:], count * self._window - self._held.shape[0], axis=0)
        return self._take(count, np.concatenate([self._held, padding]))

    def _take(self, count: int, rows: Floats) -> Windows:
        """Take the first `count` windows of `rows`, and remove their rows, which may be fewer, from those held back."""
        samples = rows[: count * self._window].reshape(count, self._window, self._held.shape[1])
        starts = np.arange(count, dtype=np.int64) * self._window
        lengths = np.minimum(self._held.shape[0] - starts, self._window)
        episodes = self._next_episode + np.arange(count, dtype=np.int64) // self._hold
        frame = Frame(lengths, self._next_row + starts, episodes, self._run(-(-count // self._hold)))
        self._held = self._held[count * self._window :]
        self._next_row += int(lengths.sum())
        self._next_episode += -(-count // self._hold)
        return Windows(samples, frame)

    def _run(self, draws: int) -> tuple[Run, ...]:
        held = self._held_recording
        name = held if isinstance(held, RecordingName) else "" if held is None else str(held)
        first, self._next_draw = self._next_draw, self._next_draw + draws
        return (Run(name, first, draws),) if draws else ()


def cut(
    rows: Iterable[tuple[Floats, NDArray[np.generic] | None]], *, window: int, channels: int, hold: int = 1
) -> Iterator[Windows]:
    """Yields the windows of a whole source, batch by batch, with the padded tail last."""
    cutter = Windower(window, channels, hold=hold)
    for samples, recording in rows:
        yield cutter.push(samples, recording)
    yield cutter.finish()


def _join(batches: list[Windows], window: int, channels: int) -> Windows:
    if len(batches) == 1:
        return batches[0]
    samples = [np.empty((0, window, channels)), *(batch.samples for batch in batches)]
    frames = [(frame.lengths, frame.first_rows, frame.episodes) for frame in (batch.frame for batch in batches)]
    none = np.empty(0, dtype=np.int64)
    lengths, first_rows, episodes = (np.concatenate([none, *(each[place] for each in frames)]) for place in range(3))
    runs = tuple(run for batch in batches for run in batch.frame.runs)
    return Windows(np.concatenate(samples), Frame(lengths, first_rows, episodes, runs))
