"""The engine with random words that repeat, and notes of what each step made: for looking, never for releasing."""

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.audit.trials import in_units
from deeprotect.privacy.entropy import Entropy, SeededEntropy, Words
from deeprotect.release import engine
from deeprotect.release.engine import Pipeline, Request
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.signals import Windows
from deeprotect.signals.schema import Floats

STEPS = ("scale", "encode", "privatise", "decode", "release")
Marks = NDArray[np.bool_]
"""One for each window of a stream."""
Trace = dict[str, Floats]
"""What each step made of a stream, (window, value)."""


def replay(bundle: Pipeline, windows: Floats, *, marks: Marks | None, sizes: tuple[int, ...]) -> Trace:
    """Scaled windows (window, value) through the engine in batches of these sizes, with the same words every time.

    Marked windows get other words, so that their noisy codes change. Without marks every window gets the same words, in
    whatever batch it comes and wherever it stands there. A mechanism must ask for as many words whatever the codes are,
    or windows will seem mixed.
    """
    notes: dict[str, list[Floats]] = {step: [] for step in STEPS}
    ledger = MemoryLedger(Price.of(bundle.mechanism))
    parts = [None] * len(sizes) if marks is None else np.split(marks, list(accumulate(sizes))[:-1])
    for call, (private, part) in enumerate(zip(_batches(bundle, windows, sizes), parts, strict=True)):
        noted = _Noted(bundle, notes)
        request = Request.of(private, noted, ledger)
        (codes,) = engine.encode([request])
        if part is not None and part.any():
            other = engine.rehearse([Request.of(private, _Codes(bundle), ledger)], entropy=_other(call), codes=[codes])
            noted.instead = part, engine.one(other).codes
        entropy: Entropy = _OneWord() if part is None else SeededEntropy(2 * call)
        _note(notes, "release", engine.one(engine.rehearse([request], entropy=entropy, codes=[codes])).windows)
    return {step: np.concatenate(made) for step, made in notes.items()}


def _other(call: int) -> Entropy:
    return SeededEntropy(2 * call + 1)


class _OneWord:
    """A word that is the same for all, by whatever part of it is taken: no octet lies where it is drawn again."""

    def words(self, count: int) -> Words:
        return np.full(count, 0x5555_5555_5555_5555, dtype=np.uint64)


def _batches(bundle: Pipeline, windows: Floats, sizes: tuple[int, ...]) -> Iterator[Windows]:
    for batch in np.split(windows, list(accumulate(sizes))[:-1]):
        yield in_units(bundle.schema, batch)


def _note(notes: dict[str, list[Floats]], step: str, made: Floats) -> Floats:
    # A copy, for a later step may write into what it is given.
    notes[step].append(np.array(made, dtype=np.float64).reshape(len(made), -1))
    return made


class _Codes:
    """A bundle that decodes nothing: what is released are noisy codes."""

    def __init__(self, bundle: Pipeline) -> None:
        self._bundle = bundle

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bundle, name)

    def decode(self, noisy_code: Floats) -> Floats:
        return noisy_code


class _Noted(_Codes):
    """A bundle that notes what it makes, and puts other noisy codes in the place of some before it decodes them."""

    def __init__(self, bundle: Pipeline, notes: dict[str, list[Floats]]) -> None:
        super().__init__(bundle)
        self._notes = notes
        self.instead: tuple[Marks, Floats] | None = None

    def encode(self, private: Floats) -> Floats:
        _note(self._notes, "scale", private)
        return _note(self._notes, "encode", self._bundle.encode(private))

    def decode(self, noisy_code: Floats) -> Floats:
        if self.instead is not None:
            marks, other = self.instead
            noisy_code = np.where(marks[:, None], other, noisy_code)
        _note(self._notes, "privatise", noisy_code)
        return _note(self._notes, "decode", self._bundle.decode(noisy_code))
