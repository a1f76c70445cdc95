"""Whether one window can touch another: the same random words twice, and what is released of a window must stay.

Once some other windows change, and once the batches do in which the same windows come.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from typing import Any

import numpy as np

from deeprotect.audit.fillings import fillings, pool
from deeprotect.audit.replay import STEPS, Marks, Trace, replay
from deeprotect.release.engine import Pipeline
from deeprotect.signals.schema import Floats

Sizes = tuple[int, ...]
"""Of the batches that a stream comes in."""

# At sizes, and just beyond, at which code that works in blocks may begin another one.
STREAMS: tuple[Sizes, ...] = ((2,), (3,), (1, 1, 1), (5, 4), (16, 17), (65,), (256, 257), (1_025,), (8_195,))
REGROUPED = 521  # windows of one stream that comes in blocks of several sizes, the last of which is never full
BLOCKS = (2, 3, 7, 64, 500, REGROUPED)


@dataclass(frozen=True)
class Isolation:
    """An exact witness, no statistics: `touched` says where windows changed although only others or batches had."""

    batches: int
    touched: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.touched

    def to_json(self) -> dict[str, Any]:
        return {"batches": self.batches, "touched": list(self.touched), "holds": self.holds}

    def __str__(self) -> str:
        if self.holds:
            return f"windows are released independently of each other: checked on {self.batches} batches"
        lines = "".join(f"\n  {line}" for line in self.touched)
        return f"WINDOWS TOUCH EACH OTHER: found on {self.batches} batches{lines}"


def isolation(bundle: Pipeline, windows: Floats, *, streams: Sequence[Sizes] = STREAMS) -> Isolation:
    """Streams of several sizes, each with several sets of changed windows; `windows` are candidates to fill them."""
    rng, batches = np.random.default_rng(0), 0
    known, touched = pool(bundle, windows, rng), dict[str, str]()
    for sizes in streams:
        for before, after in fillings(known, sum(sizes), rng):
            for marks, step, count in _compared(bundle, before, after, sizes=sizes):
                batches += 1
                if count:
                    touched.setdefault(step, _sentence(step, count, marks, sizes=sizes))
    for windows, _ in fillings(known, REGROUPED, rng):
        for block, step, count in _regrouped(bundle, windows):
            batches += 1
            if count:
                where = f"{step}: of {len(windows)} windows, {count} came out differently"
                touched.setdefault(step, f"{where} in blocks of {block} than one by one, with the same random words")
    return Isolation(batches, tuple(touched.values()))


def separating(count: int) -> Iterator[Marks]:
    """Few sets of places such that, of any two places, some set has the first and not the second.

    Each place is in another half of the sets, and no half contains another (Sperner 1928).
    """
    sets = next(number for number in range(2, 64) if comb(number, number // 2) >= count)
    members = np.zeros((sets, count), dtype=bool)
    for place, half in enumerate(islice(combinations(range(sets), sets // 2), count)):
        members[list(half), place] = True
    yield from members


def _compared(bundle: Pipeline, before: Floats, after: Floats, *, sizes: Sizes) -> Iterator[tuple[Marks, str, int]]:
    """For each set of changed windows: the first step that made something else of others, and of how many.

    That several change at once is no loss: going from one stream to the other window by window, one change did it.
    """
    nothing = np.zeros(len(before), dtype=bool)
    unchanged = replay(bundle, before, marks=nothing, sizes=sizes)
    # At last nothing: the same stream again, after all the others, must come out the same.
    for marks in [*_sets(len(before)), nothing]:
        changed = replay(bundle, np.where(marks[:, None], after, before), marks=marks, sizes=sizes)
        yield marks, *_first_difference(unchanged, changed, ~marks)


def _regrouped(bundle: Pipeline, windows: Floats) -> Iterator[tuple[int, str, int]]:
    """For each size of blocks: the first step that made something else of windows than of each alone, of how many."""
    every, (alone, *others) = (
        np.ones(len(windows), dtype=bool),
        (replay(bundle, windows, marks=None, sizes=_in_blocks(len(windows), block)) for block in (1, *BLOCKS)),
    )
    for block, together in zip(BLOCKS, others, strict=True):
        yield block, *_first_difference(alone, together, every)


def _in_blocks(count: int, block: int) -> Sizes:
    return tuple(min(block, count - start) for start in range(0, count, block))


def _sets(count: int) -> Iterator[Marks]:
    """One window alone, at the ends and in the middle, and sets that separate all places."""
    for place in sorted({0, count // 2, count - 1}):
        yield np.arange(count) == place
    yield from separating(count)


def _first_difference(before: Trace, after: Trace, rows: Marks) -> tuple[str, int]:
    for step in STEPS:
        # Bits, so that NaN equals itself and the sign of a zero counts: it would be written to a file.
        unlike = before[step][rows].view(np.uint64) != after[step][rows].view(np.uint64)
        if unlike.any():
            return step, int(unlike.any(axis=1).sum())
    return "", 0


def _sentence(step: str, count: int, marks: Marks, *, sizes: Sizes) -> str:
    stream = f"{len(marks)} windows" + (f" in {len(sizes)} batches" if len(sizes) > 1 else "")
    if not marks.any():
        return f"{step}: of {stream}, {count} came out differently the second time, with the same random words"
    places = np.flatnonzero(marks)
    which = f"number {places[0] + 1}" if len(places) == 1 else f"{len(places)} windows"
    return f"{step}: of {stream}, {which} changed, and {count} of the others with it"
