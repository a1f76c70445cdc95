"""From scores to a code: the most likely class of each inference, or the code of those who abstain."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deeprotect.bundle.layers.layer import (
    Array,
    Layer,
    Prepared,
    Reach,
    flat,
    handed,
    require_float32,
    require_whole,
    tagged,
)
from deeprotect.bundle.layers.tensors import Integers, TensorReader, TensorWriter
from deeprotect.errors import BundleError
from deeprotect.privacy.json_reader import JsonReader

LARGEST_CODE = 1 << 15
NO_SUPPORT = -(1 << 50)
"""Of a code that no combination of classes has: less than any sum of scores, and a thousand of them still add up."""


@dataclass(frozen=True, eq=False)
class Reject:
    """When a window is named by nobody well: where, of some inference, the shares of all classes add up to more than
    `odds` times that of the likeliest (reject option; Chow 1970). Its code is then `code`.

    shares: the share of a class whose score is 0, 1, 2, … steps below the likeliest one's, in whole numbers; further
    below, the last. A step is 2^step of the scores' own.
    """

    code: int
    odds: int
    shares: Integers
    step: int

    def holds(self, below: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Of scores (class, row) below the largest of their row."""
        steps = np.minimum(np.floor(np.ldexp(below, -self.step)), len(self.shares) - 1).astype(np.int64)
        shares = self.shares.astype(np.int64)
        return np.asarray(shares[steps].sum(axis=0) > self.odds * shares[0])

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        return {"code": self.code, "odds": self.odds, "shares": tensors.put(self.shares), "step": self.step}

    @classmethod
    def read(cls, fields: JsonReader, tensors: TensorReader) -> "Reject":
        shares = tensors.integers(fields.text("shares"))
        found = cls(fields.integer("code"), fields.integer("odds"), shares, fields.integer("step"))
        if not (0 <= found.step <= 32 and 1 <= found.odds <= LARGEST_CODE and 0 <= found.code <= LARGEST_CODE):
            raise BundleError("layer argmax: what it rejects is out of range; train again")
        return found


@dataclass(frozen=True, eq=False)
class Argmax(Layer):
    """Scores of several inferences side by side, so many classes each, to one code; of equal scores, the first.

    codes: the code of every combination of classes, the last inference fastest.
    """

    classes: tuple[int, ...]
    codes: Integers
    reject: Reject | None = None
    op: ClassVar[str] = "argmax"

    def prepare(self, given: Reach) -> Prepared:
        require_whole(given, self.op)
        require_float32(given, self.op)  # so that the sums of as many windows as an episode may have stay exact
        values, combinations = sum(self.classes), float(np.prod([float(count) for count in self.classes]))
        if not self.classes or min(self.classes) < 1 or flat(given, self.op) != values:
            raise BundleError(f"layer {self.op}: it does not fit {given.shape[0]} scores; train again")
        if self.codes.shape != (combinations,) or self.codes.min() < 0 or self.codes.max() > LARGEST_CODE:
            raise BundleError(f"layer {self.op}: it needs one code for each combination of classes; train again")

        def step(rows: Array, out: Array | None) -> Array:
            return handed(self.decide(rows, None)[None].astype(np.float32), out)

        largest = float(max(self.codes.max(), self.reject.code if self.reject else 0))
        return Prepared(step, Reach(np.array([largest]), whole=True), 4 * values)

    def decide(self, scores: Array, windows: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Codes of scores (score, row); where they are sums over several `windows`, shares are of their mean."""
        combination = np.zeros(scores.shape[-1], dtype=np.int64)
        rejected, end = np.zeros(scores.shape[-1], dtype=bool), 0
        for count in self.classes:
            start, end = end, end + count
            some = scores[start:end]
            combination = combination * count + some.argmax(axis=0)
            if self.reject is not None:
                below = np.maximum.reduce(some).astype(np.float64) - some
                rejected |= self.reject.holds(below if windows is None else below / windows)
        codes = self.codes.astype(np.int64)[combination]
        return codes if self.reject is None else np.where(rejected, self.reject.code, codes)

    @property
    def labels(self) -> int | None:
        """Codes that it decides between; None where it may abstain."""
        return int(self.codes.max()) + 1 if self.reject is None else None

    def support(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """What speaks for each code (code, row), of scores (score, row): its best classes."""
        combined, end = np.zeros((1, scores.shape[-1]), dtype=np.int64), 0
        for count in self.classes:
            start, end = end, end + count
            combined = (combined[:, None] + scores[start:end].astype(np.int64)).reshape(-1, scores.shape[-1])
        best = np.full((int(self.codes.max()) + 1, scores.shape[-1]), NO_SUPPORT)
        np.maximum.at(best, self.codes, combined)
        return best

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        reject = None if self.reject is None else self.reject.to_json(tensors)
        return tagged(self.op, {"classes": list(self.classes), "codes": tensors.put(self.codes), "reject": reject})

    @classmethod
    def read(cls, fields: JsonReader, tensors: TensorReader) -> "Argmax":
        reject, codes = fields.inner("reject"), tensors.integers(fields.text("codes"))
        return cls(fields.integers("classes"), codes, None if reject is None else Reject.read(reject, tensors))
