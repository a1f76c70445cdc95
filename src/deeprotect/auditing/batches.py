"""Batches in which one window differs and all others are the same, and what an observer of the whole release sees."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np

from deeprotect.auditing.distinguisher import KnownOutputs, fit, released_batches
from deeprotect.auditing.pairs import Pair
from deeprotect.privacy.channel.scripts import Scripts
from deeprotect.release.engine import Pipeline
from deeprotect.signals.schema import Floats

_PILOT = 64  # releases per side in the pilot attack on a batch
_PART = 128  # released batches that are processed together
_MOST_VALUES = 128  # values of a window that are kept as they are; longer windows become that many random sums
_MOST_COUNTED = 64  # outputs that are counted separately
_PLACES = ((2, 0), (2, 1), (8, 0), (8, 4), (8, 7), (32, 0), (32, 16), (32, 31))  # windows; place that differs


class Batch(Protocol):
    """A private batch around windows of a pool, and what is observed of its release."""

    @property
    def found(self) -> str: ...

    @property
    def hold(self) -> int:
        """The number of windows that share a draw."""
        ...

    def draw(self, pool: Floats, rng: np.random.Generator) -> Floats:
        """Scaled windows (window, value); those that differ between the two inputs come from the pool."""
        ...

    def seen(self, released: Floats) -> list[Floats]:
        """Groups of windows (run, window, value) of released batches (run, window, value), each observed as one."""
        ...


@dataclass(frozen=True)
class OneDiffers:
    """One window is drawn from the pool, the `others` (window, value) are fixed; every released window is seen.

    Windows are released independently, so the whole release may reveal as much as the one window alone: ε.
    """

    others: Floats
    place: int
    found: str
    hold = 1

    def draw(self, pool: Floats, rng: np.random.Generator) -> Floats:
        return np.insert(self.others, self.place, pool[rng.integers(len(pool))], axis=0)

    def seen(self, released: Floats) -> list[Floats]:
        others = np.delete(released, self.place, axis=1)
        return [released[:, [self.place]], others[:, [self.place % others.shape[1]]], others]


@dataclass(frozen=True)
class EpisodeDiffers:
    """Every window of one episode is drawn from the pool, all other episodes are fixed; every released window is seen.

    There is one draw for an episode, so all its released windows may reveal as much as one of them alone: ε.
    """

    others: Floats
    place: int
    hold: int

    @property
    def found(self) -> str:
        count = len(self.others) // self.hold + 1
        return f"all {self.hold} windows of episode {self.place + 1} of {count} differ, all are seen"

    def draw(self, pool: Floats, rng: np.random.Generator) -> Floats:
        own = pool[rng.integers(len(pool), size=self.hold)]
        return np.insert(self.others, [self.place * self.hold] * self.hold, own, axis=0)

    def seen(self, released: Floats) -> list[Floats]:
        own = np.arange(self.place * self.hold, (self.place + 1) * self.hold)
        others = np.delete(released, own, axis=1)
        return [released[:, own], *([others] if others.shape[1] else [])]


@dataclass(frozen=True)
class ScriptDiffers:
    """An episode like one input up to a slot and then like the other, against the reverse: they share no slot.

    There is one draw for a script, so all of its slots together may reveal as much as one of them alone: ε.
    """

    pair: Pair
    scripts: Scripts
    change: int

    @property
    def found(self) -> str:
        return f"two scripts that change at slot {self.change + 1} of {self.scripts.slots} and share none, all are seen"

    @property
    def hold(self) -> int:
        return self.scripts.slots * self.scripts.windows

    def draw(self, pool: Floats, rng: np.random.Generator) -> Floats:
        then = self.pair.second if pool is self.pair.first else self.pair.first
        before = self.change * self.scripts.windows
        sizes = ((pool, before), (then, self.hold - before))
        return np.concatenate([some[rng.integers(len(some), size=size)] for some, size in sizes])

    def seen(self, released: Floats) -> list[Floats]:
        return np.split(released, [self.change * self.scripts.windows], axis=1)


def batches(pair: Pair, windows: Floats, *, seed: int = 0) -> Iterator[Batch]:
    """Few and many others, alike or varied; the differing window first, last and in between."""
    rng = np.random.default_rng(seed)
    pools = {
        "others of many kinds": windows,
        "others like the first": pair.first,
        "others like the second": pair.second,
    }
    for number, (size, place) in enumerate(_PLACES):
        name, pool = list(pools.items())[number % len(pools)]
        others = pool[rng.integers(len(pool), size=size - 1)]
        yield OneDiffers(others, place, found=f"number {place + 1} of {size} differs, {name}, all are seen")


def episodes(windows: Floats, hold: int, *, seed: int = 0) -> Iterator[Batch]:
    """One episode alone, and one between two others."""
    rng = np.random.default_rng(seed)
    for others, place in ((0, 0), (2, 1)):
        yield EpisodeDiffers(windows[rng.integers(len(windows), size=others * hold)], place, hold)


def scripts_apart(pair: Pair, scripts: Scripts) -> Iterator[Batch]:
    """Changes early, in the middle and late, where scripts may change."""
    for change in sorted({1, scripts.slots // 2, scripts.slots - 1}) if scripts.changes else ():
        yield ScriptDiffers(pair, scripts, change)


def most_telling(bundle: Pipeline, pair: Pair, candidates: Iterable[Batch], *, outputs: KnownOutputs | None) -> Batch:
    """The batch whose inputs a pilot attack separates best; the pilot's releases are not counted."""
    return max(candidates, key=lambda batch: _separation(bundle, pair, batch, outputs=outputs))


def observed(
    bundle: Pipeline, pool: Floats, count: int, *, batch: Batch, outputs: KnownOutputs | None
) -> Iterator[Floats]:
    """Yields what is observed (run, value), in parts, of `runs` releases of the batch; each release is one run."""
    rng = np.random.default_rng()
    runs = released_batches(bundle, (batch.draw(pool, rng) for _ in range(count)), hold=batch.hold)
    while part := list(islice(runs, _PART)):
        groups = batch.seen(np.stack(part))
        yield np.concatenate([_features(group, outputs) for group in groups], axis=1)


def _features(group: Floats, outputs: KnownOutputs | None) -> Floats:
    """The mean of a group of released windows, and how often it holds each public output."""
    runs, windows, values = group.shape
    mean = _shortened(group.mean(axis=1))
    if outputs is None:
        return mean
    most = min(outputs.count, _MOST_COUNTED)
    numbers = np.minimum(outputs(group.reshape(-1, values)), most).astype(np.int64).reshape(runs, windows, 1)
    counts = (numbers == np.arange(most + 1)).sum(axis=1)
    return np.concatenate([mean, counts], axis=1)


def _shortened(rows: Floats) -> Floats:
    """Replaces long rows by sums with public random signs, which preserves equality and linearity."""
    values = rows.shape[1]
    if values <= _MOST_VALUES:
        return rows
    return np.asarray(rows @ np.random.default_rng(0).choice([-1.0, 1.0], size=(values, _MOST_VALUES)))


def _separation(bundle: Pipeline, pair: Pair, batch: Batch, *, outputs: KnownOutputs | None) -> float:
    """The distance in standard deviations; unlike a bound on ε, it is not limited by the number of runs."""
    sides = (observed(bundle, side, _PILOT, batch=batch, outputs=outputs) for side in (pair.first, pair.second))
    (first, second), half = (np.concatenate(list(side)) for side in sides), _PILOT // 2
    scores = fit(first[:half], second[:half], strong=False)
    held_out = [(score(first[half:]), score(second[half:])) for score in scores.values()]
    return max(float(abs(a.mean() - b.mean()) / np.sqrt(a.var() + b.var() + 1e-300)) for a, b in held_out)
