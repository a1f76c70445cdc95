"""What calibration counts say about a secret's classes: confidence sets, and the extremes of a mixture over them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deeprotect.errors import PolicyError, quoted
from deeprotect.privacy.channel.binomial import at_least, at_most
from deeprotect.privacy.json_reader import JsonReader
from deeprotect.privacy.names import LONGEST_IN_BUNDLE, check_names
from deeprotect.privacy.size_limits import MOST_INTERVALS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

UNIT = 1 << 30  # ends of intervals are whole multiples of 2^-30, so that they can be checked in integers
FEWEST_GIVEN = 20
"""Calibration windows of a useful class and a class of a secret together, below which they are promised nothing."""
LONGEST_CODE = 1000  # a useful class joins the classes of all useful inferences
_PARTS = np.arange(1, 16)[:, None]  # sixteenths: points at which an interval is searched at once
_HALF = np.ones((1, 1), dtype=np.int64)
_FEW, _AT_ONCE = 64, 1024  # intervals: where a call's own time no longer counts, and where a cache is full
_MOST_COUNTS = 1 << 31  # of a class; times UNIT it fits a machine's integer


@dataclass(frozen=True, eq=False)
class SensitiveCounts:
    """A named inference with the calibration windows of each class counted by code; counts is (class, code).

    Its promise: no output is e^epsilon times as likely under one class as under another. With `given` all windows are
    of that useful class, in calibration and in the promise; a secret then has a table for each useful class.
    """

    inference: str
    classes: tuple[str, ...]
    counts: NDArray[Any]
    epsilon: float
    given: str = ""

    def __post_init__(self) -> None:
        check_names(
            (self.inference, *self.classes), "the name of an inference or of its class", longest=LONGEST_IN_BUNDLE
        )
        if len(set(self.classes)) < len(self.classes):
            raise PolicyError(f"{quoted(self.inference)} has two classes of one name; count again")
        counts = np.asarray(self.counts)
        if counts.ndim != 2 or counts.shape[0] != len(self.classes) or counts.size == 0:
            raise PolicyError(
                f"{quoted(self.inference)} needs one row of counts for each class and one column for each code"
            )
        if not (np.isfinite(counts).all() and counts.min() >= 0 and counts.sum(axis=1).max() < _MOST_COUNTS):
            raise PolicyError(f"{quoted(self.inference)} has counts that are no numbers of windows")
        if (counts != np.rint(counts)).any():
            raise PolicyError(f"{quoted(self.inference)} has counts that are not whole numbers")
        if not self.epsilon >= 0:
            raise PolicyError(f"{quoted(self.inference)}: epsilon = {self.epsilon} must not be negative")
        object.__setattr__(self, "counts", counts.astype(np.int64))
        object.__setattr__(self, "epsilon", float(self.epsilon))
        self._check_given()

    def _check_given(self) -> None:
        if not self.given:
            return
        check_names((self.given,), "the name of a useful class", longest=LONGEST_CODE)
        if len(self.classes) < 2 or self.windows.min() < FEWEST_GIVEN:
            raise PolicyError(f"{self} needs two classes or more, each seen in {FEWEST_GIVEN} windows or more")

    @property
    def windows(self) -> Integers:
        """Calibration windows of each class."""
        return np.asarray(self.counts.sum(axis=1))

    def __str__(self) -> str:
        return quoted(self.inference) if not self.given else f"{quoted(self.inference)} given {quoted(self.given)}"

    def to_json(self) -> dict[str, Any]:
        return {"classes": list(self.classes), "counts": self.counts.tolist(), "epsilon": self.epsilon}

    @classmethod
    def read(cls, record: JsonReader, inference: str) -> "SensitiveCounts":
        return cls(inference, record.texts("classes"), record.matrix("counts"), record.number("epsilon"))


def sets(secrets: Sequence[SensitiveCounts], *, confidence: float) -> list[tuple[Floats, Floats]]:
    """The intervals of each secret; with probability at least `confidence` all of all secrets hold together.

    Classes of all tables of an inference are independent samples, and share its confidence.
    """
    _check_intervals(secrets)
    found: list[tuple[Floats, Floats]] = [(np.empty(0), np.empty(0))] * len(secrets)
    places = tables_by_inference(secrets)
    each = confidence_of_each(confidence, len(places))
    for numbers in places.values():
        ends = confidence_intervals(np.concatenate([secrets[n].counts for n in numbers]), confidence=each)
        borders = np.cumsum([len(secrets[n].classes) for n in numbers])[:-1]
        for number, low, high in zip(numbers, *(np.split(side, borders) for side in ends), strict=True):
            found[number] = low, high
    return found


def _check_intervals(secrets: Sequence[SensitiveCounts]) -> None:
    """Refuse more of them than can be worked out in seconds."""
    different = sum(len(np.unique(each.counts * _MOST_COUNTS + each.windows[:, None])) for each in secrets)
    if different > MOST_INTERVALS:
        raise PolicyError(
            f"{different} different counts need intervals, at most {MOST_INTERVALS} can; name fewer classes"
        )


def tables_by_inference(secrets: Sequence[SensitiveCounts]) -> dict[str, list[int]]:
    """The numbers of the tables of each inference."""
    places: dict[str, list[int]] = {}
    for number, secret in enumerate(secrets):
        places.setdefault(secret.inference, []).append(number)
    return places


def confidence_of_each(confidence: float, inferences: int) -> float:
    """What the sets of each of several inferences need for all to hold, rounded up.

    Inferences are counted on the same windows, so nothing is known but that their misses add up.
    """
    _check(confidence)
    if inferences <= 1:
        return confidence
    return min(1.0, math.nextafter(1.0 - (1.0 - confidence) / inferences, math.inf))


def confidence_intervals(counts: ArrayLike, *, confidence: float) -> tuple[Floats, Floats]:
    """Ends (low, high) of P(code | class), shape (class, code), for calibration counts of that shape.

    With probability at least `confidence` all codes of all classes hold together.
    docs/claims.md#channel-and-named-inferences
    """
    _check(confidence)
    found = np.asarray(counts, dtype=np.int64)
    windows = np.broadcast_to(found.sum(axis=1, keepdims=True), found.shape)
    classes, codes = found.shape
    if codes == 1:
        return np.ones(found.shape), np.ones(found.shape)
    # Two codes are one proportion seen from both sides: one event, not two.
    miss = miss_of_each(confidence, classes) / (1 if codes == 2 else codes)
    high, rest = _upper(np.stack([found, windows - found]), np.stack([windows, windows]), miss)
    return (UNIT - rest) / UNIT, high / UNIT


def miss_of_each(confidence: float, classes: int) -> float:
    """1 - confidence^(1/classes): classes are independent samples, so all hold with probability (1 - miss)^classes."""
    # Rounded down by far more than the logarithm and the exponential are off: a smaller miss is a wider set.
    return -math.expm1(math.log(confidence) / classes) * (1.0 - 2.0**-40)


def _check(confidence: float) -> None:
    if not 0.5 <= confidence <= 1:
        raise PolicyError(f"confidence = {confidence} must be between 0.5 and 1")


def extremes(weights: ArrayLike, low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats]:
    """The least and largest Σ_z p_z weights[z, j] over low ≤ p ≤ high, Σp = 1, rounded outward.

    weights is (code, output); low and high are (code,) or (class, code); results (output,) or (class, output).
    """
    matrix = np.asarray(weights, dtype=np.float64)
    lows, highs = np.atleast_2d(np.asarray(low, dtype=np.float64)), np.atleast_2d(np.asarray(high, dtype=np.float64))
    slack = 1e-13 * np.abs(matrix).max(axis=0)
    least = np.einsum("skj,kj->sj", worst(-matrix, lows, highs), matrix) - slack
    most = np.einsum("skj,kj->sj", worst(matrix, lows, highs), matrix) + slack
    return (least[0], most[0]) if np.ndim(low) == 1 else (least, most)


def worst(order: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    """The p, shape (class, code, output), that puts most on codes with a high `order[z, j]`: greedy, and so optimal.

    In units of `low` and `high` (class, code): fractions of 1, or integers out of UNIT.
    """
    total = 1 if low.dtype.kind == "f" else UNIT
    first = np.argsort(order, axis=0, kind="stable")[::-1]
    width = (high - low)[:, first]
    before = np.cumsum(width, axis=1) - width
    rest = total - low.sum(axis=1)
    given = np.clip(rest[:, None, None] - before, 0, width)
    result = np.empty_like(given)
    np.put_along_axis(result, np.broadcast_to(first, given.shape), given, axis=1)
    return np.asarray(result + low[:, :, None])


def _upper(found: Integers, windows: Integers, miss: float) -> Integers:
    """Blaker's upper end for each (found, windows), in units of 2^-30, rounded up and one unit more."""
    pairs, where = np.unique(np.stack([found.ravel(), windows.ravel()]), axis=1, return_inverse=True)
    ends = np.full(pairs.shape[1], UNIT, dtype=np.int64)
    open_ended = np.flatnonzero(pairs[0] < pairs[1])
    for start in range(0, len(open_ended), _AT_ONCE):
        some = open_ended[start : start + _AT_ONCE]
        ends[some] = _blaker(*pairs[:, some], miss=miss)
    return np.asarray(np.minimum(ends[where] + 1, UNIT).reshape(found.shape))


def _blaker(x: Integers, n: Integers, *, miss: float) -> Integers:
    """The smallest grid point above the hull of {p : p-value of x under Binomial(n, p) ≥ miss} (Blaker 2000).

    With T(k) = P(X ≥ k): the Clopper–Pearson end U is where P(X ≤ x) = miss/2. Let k be the least with
    T(k) ≤ P(X ≤ x) at U. Between the p where T(k-1) passes P(X ≤ x) and U the p-value is P(X ≤ x) + T(k), which
    falls and then may rise but is below `miss` at U; so "outside" is monotone there, and bisection finds its start.
    """

    def below(grid: Integers) -> Floats:
        return at_most(x, n, grid / UNIT)

    def above(k: Integers, grid: Integers) -> Floats:
        return at_least(k, n, grid / UNIT)

    def outside(grid: Integers) -> NDArray[np.bool_]:
        tail = below(grid)
        return np.asarray((above(k - 1, grid) > tail) & (tail + above(k, grid) < miss))

    start = -(-x * UNIT // n)
    outer = _first(lambda grid: below(grid) < miss / 2, start, np.full_like(x, UNIT))
    k = _first(lambda k: above(k, outer) <= below(outer), x + 1, n + 1)
    return _first(outside, start, outer)


def _first(holds: Callable[[Integers], NDArray[np.bool_]], low: Integers, high: Integers) -> Integers:
    """The first integer of each low .. high at which the monotone `holds` is true; it is taken for true at high."""
    low, high, every = low.copy(), high.copy(), np.arange(len(low))
    # A call for one number costs about as much as one for a hundred; of more numbers each halves its own interval.
    parts = _PARTS if len(low) < _FEW else _HALF
    while (low < high).any():
        points = np.vstack([low + (high - low) * parts // (len(parts) + 1), high])
        true = np.vstack([holds(points[:-1]) | (points[:-1] >= high), every >= 0]).argmax(axis=0)
        low, high = np.where(true > 0, points[true - 1, every] + 1, low), points[true, every]
    return high
