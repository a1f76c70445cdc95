"""Networks made up at random, against what their layers say of themselves: `python -m tests.bundle.layers.fuzz`.

At every layer, those in branches included: no value leaves its stated bounds, all are those of the reference in exact
whole numbers, and no block or place makes a difference. A layer gets what the layers before it give, and what they
could give by their bounds: ends, and a search from them for what comes next to the ends of its own interval. What is
wrong is said with the seed that makes it again.
"""

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from tests.bundle.layers.reference import Row, compute, number, row_of
from tests.device.random_networks import INPUTS, Maker

from deeprotect.bundle.layers.layer import Array, Bounds, Footprint, Layer, Step
from deeprotect.bundle.layers.structure import Concatenation, Residual, prepare
from deeprotect.bundle.network import Network
from deeprotect.errors import BundleError

ROWS, REFERRED, IN_BLOCKS = 500, 2, 8
BLOCKS = (1, 2, 3, 8)
NETWORKS = 200
"""In `make test`: enough for each of the wrong intervals that tests plant (tests/mutations/intervals.py)."""
ALONE = 6
"""Layers for each network that are given intervals made up at random, as no layer before them may give."""
FAR = 2.0**20
CORNERS, INSIDE, SEARCHED = 4, 4, 48
"""Rows of a layer's box that are drawn, and values that a search changes and looks at."""


@dataclass
class Found:
    """What was looked at, and what was wrong with it, each with its seed."""

    networks: int = 0
    values: int = 0
    wrong: tuple[str, ...] = ()
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def look(self, seed: int) -> None:
        """At one network, and at layers alone; those that are refused say nothing."""
        maker, self.random = Maker(seed), np.random.default_rng(seed)
        with np.errstate(all="ignore"):
            for part in (self._network(maker), self._alone(maker)):
                self.wrong += tuple(f"seed {seed}: {each}" for each in _told(part))

    def _network(self, maker: Maker) -> Iterator[str]:
        layers, rows = maker.network(), maker.rows(ROWS)
        try:
            network = Network(layers, INPUTS)
        except BundleError:
            return
        self.networks += 1
        exact = [row_of(row) for row in rows[:REFERRED]]
        yield from self._chain(layers, Bounds.anything(INPUTS), rows.T.astype(np.float32), exact)
        yield from _in_blocks(network, rows)

    def _alone(self, maker: Maker) -> Iterator[str]:
        for _ in range(ALONE):
            given = maker.bounds()
            layers = maker.chain((), given, length=1)
            try:
                prepare(layers, given)
            except BundleError:
                continue
            yield from self._chain(layers, replace(given, footprint=Footprint()), *self._box(given))

    def _chain(self, layers: tuple[Layer, ...], given: Bounds, rows: Array, exact: list[Row]) -> Iterator[str]:
        """Layer by layer, so that a value that a later clip hides is seen, too."""
        for layer in layers:
            inner = layer.branches if isinstance(layer, Concatenation) else ()
            for branch in (*inner, *([layer.layers] if isinstance(layer, Residual) else [])):
                yield from self._chain(branch, replace(given, ours=False), rows, exact)
            prepared = layer.prepare(replace(given, ours=False))
            made = given.after(prepared)
            yield from self._layer(layer, prepared.step, made, *self._box(_finite(given), prepared.step))
            yield from self._layer(layer, prepared.step, made, rows, exact)
            rows, exact, given = prepared.step(rows, None), [_reference(layer, row, made) for row in exact], made

    def _layer(self, layer: Layer, step: Step, made: Bounds, rows: Array, exact: list[Row]) -> Iterator[str]:
        found = step(rows, None)
        self.values += found.size
        yield from _broken(layer.op, made, found, [_reference(layer, row, made) for row in exact])

    def _box(self, given: Bounds, step: Step | None = None) -> tuple[Array, list[Row]]:
        """Rows within bounds, those first that the reference computes, too."""
        ends, shape = np.stack([given.low, given.high]), given.shape
        place = np.zeros((5 + CORNERS, *shape), np.int64)
        place[1], place[2, ::2], place[3, 1::2] = 1, 1, 1  # all low, all high, and in turn
        place[4] = np.abs(ends).argmin(axis=0)
        place[5:] = self.random.integers(2, size=(CORNERS, *shape))
        some = np.where(place, given.high, given.low)
        inside = given.low + self.random.random((INSIDE, *shape)) * (given.high - given.low)
        inside = np.rint(inside) if given.whole else inside.astype(np.float32)
        some = [some, np.clip(inside, given.low, given.high)]
        if step is not None:
            some.insert(0, self._towards_ends(given, step))
        every = self.random.permutation(np.concatenate(some)).astype(given.kind)
        rows, double = np.moveaxis(every, 0, -1), given.kind is np.float64
        return rows, [
            Row([number(value) for value in each.ravel().tolist()], shape, double) for each in every[:REFERRED]
        ]

    def _towards_ends(self, given: Bounds, step: Step) -> Array:
        """From a corner, all changes to the other end that move a result up, and all that move it down: for a sum, the
        rows on which it is largest and least."""
        corner = self.random.integers(2, size=given.low.size)
        changed = self.random.permutation(given.low.size)[:SEARCHED]
        places = np.tile(corner, (len(changed) + 1, 1))
        places[np.arange(len(changed)), changed] ^= 1

        def rows(places: np.ndarray) -> np.ndarray:
            return np.where(places, given.high.ravel(), given.low.ravel()).reshape(-1, *given.shape)

        found = step(np.moveaxis(rows(places), 0, -1).astype(given.kind), None).reshape(-1, len(places))
        moved = found[:, :-1] - found[:, -1:]
        moved = self.random.permutation(moved)[:SEARCHED]
        both = np.tile(corner, (2 * len(moved), 1))
        both[:, changed] ^= np.concatenate([moved > 0, moved < 0])
        return rows(both)


def _finite(given: Bounds) -> Bounds:
    """Where values can be anything: from far below to far above."""
    low, high = (np.where(np.isfinite(given.most), end, far) for end, far in ((given.low, -FAR), (given.high, FAR)))
    return replace(given, low=low, high=high)


def _told(wrong: Iterator[str]) -> Iterator[str]:
    """What is wrong, a layer that fails included."""
    try:
        yield from wrong
    except Exception as error:
        yield f"fails: {error!r}"


def _reference(layer: Layer, row: Row, made: Bounds) -> Row:
    return replace(compute(layer, row), double=made.kind is np.float64)


def _broken(op: str, bounds: Bounds, rows: np.ndarray, exact: list[Row]) -> Iterator[str]:
    low, high = bounds.low[..., None], bounds.high[..., None]
    if rows.shape[:-1] != bounds.shape or not ((low <= rows) & (rows <= high) | ~np.isfinite(high)).all():
        yield f"{op} leaves its bounds"
    if bounds.whole and not (rows == np.rint(rows)).all():
        yield f"{op} is not whole"
    for place, row in enumerate(exact):
        ends = zip(row.values, bounds.low.ravel().tolist(), bounds.high.ravel().tolist(), strict=True)
        if not all(least <= value <= most or math.isinf(most) for value, least, most in ends):
            yield f"{op} leaves its bounds in exact numbers"
        same = zip(row.values, rows[..., place].ravel().tolist(), strict=True)
        if not all(value == found or (value != value and found != found) for value, found in same):
            yield f"{op} is not what the reference computes"


def _in_blocks(network: Network, rows: np.ndarray) -> Iterator[str]:
    whole = network(rows)
    for size in BLOCKS:
        parts = [network(rows[start : start + size]) for start in range(0, IN_BLOCKS, size)]
        if not np.array_equal(np.concatenate(parts)[:IN_BLOCKS], whole[:IN_BLOCKS], equal_nan=True):
            yield f"blocks of {size} and of {ROWS} differ"


def look(networks: int, *, first: int = 0) -> Found:
    """Until so many were not refused, or something is wrong."""
    found, seed = Found(), first
    while found.networks < networks and not found.wrong:
        found.look(seed)
        seed += 1
    return found


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=1.0)
    options.add_argument("--first", type=int, default=int(time.time()) << 20, help="the first seed")
    chosen = options.parse_args()
    found, seed, end = Found(), chosen.first, time.monotonic() + 60 * chosen.minutes
    while time.monotonic() < end:
        found.look(seed)
        seed += 1
    print(*found.wrong[:20], sep="\n")
    print(f"{found.networks} networks from seed {chosen.first}, {found.values} values, {len(found.wrong)} wrong")
    raise SystemExit(bool(found.wrong))
