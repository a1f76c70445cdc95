"""What a batch is filled with before and after a change: windows of other codes, and others that show any influence."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deeprotect.audit.candidates import encode_alone
from deeprotect.release.engine import Pipeline
from deeprotect.signals.schema import Floats

_MOST_CANDIDATES = 1_024
_EDGES, _PLAIN = 48, 64
_HALVINGS = 24  # float32 tells no more of a window in [0, 1]
_MANY = 1_000  # windows of a stream in which one filling has to do

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Pool:
    """Scaled windows (window, value), and the number of the code that each has by itself."""

    windows: Floats
    codes: Indices

    def of_another_code(self, chosen: Indices, rng: np.random.Generator) -> Indices:
        """For each chosen window one with another code, where there is one: other changes may show nothing."""
        order, kinds = self.codes.argsort(kind="stable"), int(self.codes.max()) + 1
        code = (self.codes[chosen] + rng.integers(1, max(2, kinds), size=len(chosen))) % kinds
        first, last = (np.searchsorted(self.codes[order], code, side=side) for side in ("left", "right"))
        return np.asarray(order[rng.integers(first, last)])


def pool(bundle: Pipeline, candidates: Floats, rng: np.random.Generator) -> Pool:
    """One window for each code, windows at the edge between two, and some as they come."""
    tried = rng.permutation(candidates)[:_MOST_CANDIDATES]
    codes = encode_alone(bundle, tried)
    _, where = np.unique(codes, axis=0, return_index=True)
    parts = [tried[where], tried[:_PLAIN], *_edges(bundle, tried[where], codes[where], rng)]
    windows = np.concatenate(parts)
    numbers = np.unique(encode_alone(bundle, windows), axis=0, return_inverse=True)[1]
    return Pool(windows, numbers.ravel())


def fillings(pool: Pool, count: int, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """Windows of a stream before and after a change: drawn from the pool; all alike, changed to another one.

    Of all alike the lowest and the highest, too: one window then moves even the extremes of a batch.
    """
    drawn = rng.integers(len(pool.windows), size=count)
    yield pool.windows[drawn], pool.windows[pool.of_another_code(drawn, rng)]
    if count <= _MANY:
        low, *_, high = pool.windows.sum(axis=1).argsort()
        some = rng.integers(len(pool.windows), size=1)
        for alike, other in ((low, high), (high, low), (some[0], pool.of_another_code(some, rng)[0])):
            yield np.repeat(pool.windows[[alike]], count, axis=0), np.repeat(pool.windows[[other]], count, axis=0)


def _edges(bundle: Pipeline, windows: Floats, codes: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Windows on both sides of the edge between two codes, where the least influence turns a code."""
    start, end = rng.integers(len(windows), size=(2, _EDGES))
    inside, outside = windows[start], windows[end]
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        same = (encode_alone(bundle, middle) == codes[start]).all(axis=1)[:, None]
        inside, outside = np.where(same, middle, inside), np.where(same, outside, middle)
    return inside, outside
