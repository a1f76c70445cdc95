"""Whether one window can affect another: with the same random words, a window's release must stay the same.

First other windows change, then the batches in which the same windows arrive. Repeated random words are for tests,
never for a release.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, islice
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.auditing.distinguisher import in_units
from deeprotect.auditing.pairs import encode_alone
from deeprotect.privacy.entropy import Entropy, SeededEntropy, Words
from deeprotect.release import engine
from deeprotect.release.engine import Pipeline, Request
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.signals.schema import Floats

STEPS = ("scale", "encode", "privatise", "decode", "release")
Marks = NDArray[np.bool_]
"""A mark for each window of a stream."""
Trace = dict[str, Floats]
"""The result of each step for a stream, (window, value)."""


def replay(bundle: Pipeline, windows: Floats, *, marks: Marks | None, sizes: tuple[int, ...]) -> Trace:
    """Runs scaled windows (window, value) through the engine in batches of these sizes, always with the same words.

    Marked windows get other words, so that their noisy codes change. Without marks every window gets the same words, in
    any batch and at any place in it. A mechanism must ask for the same number of words whatever the codes are, or
    windows will seem mixed.
    """
    notes: dict[str, list[Floats]] = {step: [] for step in STEPS}
    ledger = MemoryLedger(Price.of(bundle.mechanism))
    borders = list(accumulate(sizes))[:-1]
    parts = [None] * len(sizes) if marks is None else np.split(marks, borders)
    for call, (batch, part) in enumerate(zip(np.split(windows, borders), parts, strict=True)):
        private, noted = in_units(bundle.schema, batch), _Noted(bundle, notes)
        request = Request.of(private, noted, ledger)
        _note(notes, "scale", bundle.schema.scale(request.observed))
        (codes,) = engine.encode([request])
        _note(notes, "encode", codes)
        if part is not None and part.any():
            only, words = Request.of(private, _Codes(bundle), ledger), SeededEntropy(2 * call + 1)
            other = engine.simulate([only], entropy=words, codes=[codes])
            noted.instead = part, engine.one(other).codes
        entropy: Entropy = _OneWord() if part is None else SeededEntropy(2 * call)
        _note(notes, "release", engine.one(engine.simulate([request], entropy=entropy, codes=[codes])).windows)
    return {step: np.concatenate(made) for step, made in notes.items()}


class _OneWord:
    """The same word for all, in each of its parts; rejection sampling never rejects it."""

    def words(self, count: int) -> Words:
        return np.full(count, 0x5555_5555_5555_5555, dtype=np.uint64)


def _note(notes: dict[str, list[Floats]], step: str, made: Floats) -> Floats:
    # A copy, since a later step may overwrite its input.
    notes[step].append(np.array(made, dtype=np.float64).reshape(len(made), -1))
    return made


class _Codes:
    """A bundle that releases noisy codes and decodes nothing."""

    def __init__(self, bundle: Pipeline) -> None:
        self._bundle = bundle

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bundle, name)

    def decode(self, noisy_code: Floats) -> Floats:
        middle = self._bundle.schema.middle
        return np.broadcast_to(middle, (len(noisy_code), *middle.shape))


class _Noted(_Codes):
    """A bundle that records what is decoded, and replaces some noisy codes before it decodes them."""

    def __init__(self, bundle: Pipeline, notes: dict[str, list[Floats]]) -> None:
        super().__init__(bundle)
        self._notes = notes
        self.instead: tuple[Marks, Floats] | None = None

    def decode(self, noisy_code: Floats) -> Floats:
        if self.instead is not None:
            marks, other = self.instead
            noisy_code = np.where(marks[:, None], other, noisy_code)
        _note(self._notes, "privatise", noisy_code)
        return _note(self._notes, "decode", engine.windows_of(self._bundle, noisy_code))


_MOST_CANDIDATES = 1_024
_EDGES, _PLAIN = 48, 64
_HALVINGS = 24  # the precision of float32 in [0, 1]
_MANY = 1_000  # longer streams get one filling only

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Pool:
    """Scaled windows (window, value), and the number of each one's own code."""

    windows: Floats
    codes: Indices

    def of_another_code(self, chosen: Indices, rng: np.random.Generator) -> Indices:
        """For each chosen window, one with another code if there is one: other changes may have no effect."""
        order, kinds = self.codes.argsort(kind="stable"), int(self.codes.max()) + 1
        code = (self.codes[chosen] + rng.integers(1, max(2, kinds), size=len(chosen))) % kinds
        first, last = (np.searchsorted(self.codes[order], code, side=side) for side in ("left", "right"))
        return np.asarray(order[rng.integers(first, last)])


def pool(bundle: Pipeline, candidates: Floats, rng: np.random.Generator) -> Pool:
    """One window for each code, windows at the edge between two codes, and some others."""
    tried = rng.permutation(candidates)[:_MOST_CANDIDATES]
    codes = encode_alone(bundle, tried)
    _, where = np.unique(codes, axis=0, return_index=True)
    parts = [tried[where], tried[:_PLAIN], *_edges(bundle, tried[where], codes[where], rng)]
    windows = np.concatenate(parts)
    numbers = np.unique(encode_alone(bundle, windows), axis=0, return_inverse=True)[1]
    return Pool(windows, numbers.ravel())


def fillings(pool: Pool, count: int, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """Windows of a stream before and after a change: random ones, or all equal and changed to another window.

    Equal windows include the lowest and the highest, so that one window moves even the extremes of a batch.
    """
    drawn = rng.integers(len(pool.windows), size=count)
    yield pool.windows[drawn], pool.windows[pool.of_another_code(drawn, rng)]
    if count <= _MANY:
        low, *_, high = pool.windows.sum(axis=1).argsort()
        some = rng.integers(len(pool.windows), size=1)
        for alike, other in ((low, high), (high, low), (some[0], pool.of_another_code(some, rng)[0])):
            yield np.repeat(pool.windows[[alike]], count, axis=0), np.repeat(pool.windows[[other]], count, axis=0)


def _edges(bundle: Pipeline, windows: Floats, codes: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Windows on both sides of the edge between two codes, where the smallest influence changes a code."""
    start, end = rng.integers(len(windows), size=(2, _EDGES))
    inside, outside = windows[start], windows[end]
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        same = (encode_alone(bundle, middle) == codes[start]).all(axis=1)[:, None]
        inside, outside = np.where(same, middle, inside), np.where(same, outside, middle)
    return inside, outside


Sizes = tuple[int, ...]
"""Sizes of the batches of a stream."""

# Sizes at which code that works in blocks may start another block, and just beyond.
STREAMS: tuple[Sizes, ...] = ((2,), (3,), (1, 1, 1), (5, 4), (16, 17), (65,), (256, 257), (1_025,), (8_195,))
REGROUPED = 521  # windows of a stream that is cut into blocks of several sizes; the last block is never full
BLOCKS = (2, 3, 7, 64, 500, REGROUPED)


@dataclass(frozen=True)
class Isolation:
    """An exact result: `touched` says where windows changed although only other windows, or batches, did."""

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
    """Tries streams of several sizes, each with several sets of changed windows; `windows` are candidates for both."""
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
    """Few sets of places such that for any two places some set contains the first and not the second.

    Each place is in a different half of the sets, and no half contains another (Sperner 1928).
    """
    sets = next(number for number in range(2, 64) if comb(number, number // 2) >= count)
    members = np.zeros((sets, count), dtype=bool)
    for place, half in enumerate(islice(combinations(range(sets), sets // 2), count)):
        members[list(half), place] = True
    yield from members


def _compared(bundle: Pipeline, before: Floats, after: Floats, *, sizes: Sizes) -> Iterator[tuple[Marks, str, int]]:
    """For each set of changed windows, the first step whose result differs for other windows, and for how many.

    Changing several at once loses nothing: going from one stream to the other window by window, some step differs.
    """
    nothing = np.zeros(len(before), dtype=bool)
    unchanged = replay(bundle, before, marks=nothing, sizes=sizes)
    # Last, no change: the same stream must give the same result again.
    for marks in [*_sets(len(before)), nothing]:
        changed = replay(bundle, np.where(marks[:, None], after, before), marks=marks, sizes=sizes)
        yield marks, *_first_difference(unchanged, changed, ~marks)


def _regrouped(bundle: Pipeline, windows: Floats) -> Iterator[tuple[int, str, int]]:
    """For each block size, the first step whose result differs from that for single windows, and for how many."""
    every, (alone, *others) = (
        np.ones(len(windows), dtype=bool),
        (replay(bundle, windows, marks=None, sizes=_in_blocks(len(windows), block)) for block in (1, *BLOCKS)),
    )
    for block, together in zip(BLOCKS, others, strict=True):
        yield block, *_first_difference(alone, together, every)


def _in_blocks(count: int, block: int) -> Sizes:
    return tuple(min(block, count - start) for start in range(0, count, block))


def _sets(count: int) -> Iterator[Marks]:
    """Single windows at the ends and in the middle, and sets that separate all places."""
    for place in sorted({0, count // 2, count - 1}):
        yield np.arange(count) == place
    yield from separating(count)


def _first_difference(before: Trace, after: Trace, rows: Marks) -> tuple[str, int]:
    for step in STEPS:
        # Compared as bits: NaN equals itself, and the sign of zero counts, since a file would show it.
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
