"""The pipe with random words that repeat, and notes of what each step made: for looking, never for releasing."""

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.audit.trials import in_units
from deeprotect.privacy.entropy import Entropy, SeededEntropy, SystemEntropy, Words
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.release.engine import Pipeline, stream
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.signals import Windows
from deeprotect.signals.schema import Floats

STEPS = ("scale", "encode", "privatise", "decode", "release")
Marks = NDArray[np.bool_]
"""One for each window of a stream."""
Trace = dict[str, Floats]
"""What each step made of a stream, (window, value)."""


def replay(bundle: Pipeline, windows: Floats, *, marks: Marks | None, sizes: tuple[int, ...]) -> Trace:
    """Scaled windows (window, value) through the real pipe in batches of these sizes, with the same words every time.

    Marked windows get other words, so that their noisy codes change for certain. Without marks every window gets the
    same words, in whatever batch it comes and wherever it stands there.
    """
    notes: dict[str, list[Floats]] = {step: [] for step in STEPS}
    private = _batches(bundle, windows, sizes)
    ledger = MemoryLedger(Price.of(bundle.mechanism))
    for part in stream(private, _Replayed(bundle, marks, notes), ledger=ledger, entropy=_SYSTEM):
        _note(notes, "release", part.samples)
    return {step: np.concatenate(parts) for step, parts in notes.items()}


class _OneWord:
    """A word that is the same for all, by whatever part of it is taken: no octet lies where it is drawn again."""

    def words(self, count: int) -> Words:
        return np.full(count, 0x5555_5555_5555_5555, dtype=np.uint64)


# The pipe insists on it and gets it; only the stand-ins below, which release to nobody, put it aside.
_SYSTEM = SystemEntropy()


def _batches(bundle: Pipeline, windows: Floats, sizes: tuple[int, ...]) -> Iterator[Windows]:
    for batch in np.split(windows, list(accumulate(sizes))[:-1]):
        yield in_units(bundle.schema, batch)


def _note(notes: dict[str, list[Floats]], step: str, made: Floats) -> Floats:
    # A copy, for a later step may write into what it is given.
    notes[step].append(np.array(made, dtype=np.float64).reshape(len(made), -1))
    return made


class _Replayed:
    """A bundle that notes what it makes; all but the words is its own."""

    def __init__(self, bundle: Pipeline, marks: Marks | None, notes: dict[str, list[Floats]]) -> None:
        self._bundle, self._notes = bundle, notes
        self.schema = bundle.schema
        self.mechanism: Any = _ReplayedMechanism(bundle.mechanism, marks, notes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bundle, name)

    def encode(self, private: Floats) -> Floats:
        _note(self._notes, "scale", private)
        return _note(self._notes, "encode", self._bundle.encode(private))

    def decode(self, noisy_code: Floats) -> Floats:
        return _note(self._notes, "decode", self._bundle.decode(noisy_code))


class _ReplayedMechanism:
    """A mechanism on words that repeat. It must ask for as many whatever the codes are, or windows will seem mixed."""

    def __init__(self, mechanism: Mechanism, marks: Marks | None, notes: dict[str, list[Floats]]) -> None:
        self._mechanism, self._marks, self._notes = mechanism, marks, notes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mechanism, name)

    def privatise(self, code: Floats, *, entropy: Entropy) -> Floats:
        del entropy
        if self._marks is None:
            return _note(self._notes, "privatise", self._mechanism.privatise(code, entropy=_OneWord()))
        before = self._notes["privatise"]
        call, first = len(before), sum(map(len, before))
        marks = self._marks[first : first + len(code)]
        noisy = np.array(self._mechanism.privatise(code, entropy=SeededEntropy(2 * call)))
        if marks.any():
            noisy[marks] = self._mechanism.privatise(code[marks], entropy=SeededEntropy(2 * call + 1))
        return _note(self._notes, "privatise", noisy)
