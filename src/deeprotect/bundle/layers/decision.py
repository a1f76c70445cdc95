"""From scores to a code: the most likely class of each inference, or the code of those who abstain."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deeprotect.bundle.layers.layer import Float32s, Layer, Shape, flat, tagged
from deeprotect.bundle.layers.tensors import TensorReader, TensorWriter
from deeprotect.errors import BundleError
from deeprotect.privacy.json_reader import JsonReader

LARGEST_CODE = 1 << 20  # of those that float32 holds exactly


@dataclass(frozen=True, eq=False)
class Argmax(Layer):
    """Scores of several inferences side by side, so many classes each, to one code.

    codes: the code of every combination of classes, the last inference fastest. Where some inference's likeliest
    class has less than `least_share` of its probability, the code is `reject` (reject option; Chow 1970).
    """

    classes: tuple[int, ...]
    codes: NDArray[np.int64]
    least_share: float = 0.0
    reject: int = 0
    op: ClassVar[str] = "argmax"

    def shape(self, given: Shape) -> Shape:
        values, combinations = sum(self.classes), float(np.prod([float(count) for count in self.classes]))
        if not self.classes or min(self.classes) < 1 or flat(given, self.op) != values:
            raise BundleError(f"layer {self.op}: it does not fit {given[0]} scores; train again")
        known = self.codes.min() >= 0 and self.reject >= 0 and max(self.codes.max(), self.reject) <= LARGEST_CODE
        if self.codes.shape != (combinations,) or not known or not 0 <= self.least_share <= 1:
            raise BundleError(f"layer {self.op}: it needs one code for each combination of classes; train again")
        return (1,)

    def log_probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of each inference's classes, from scores (row, class): they add up over windows, scores do not."""
        return np.hstack([_log_softmax(each) for each in np.split(scores, np.cumsum(self.classes)[:-1], axis=1)])

    def __call__(self, rows: Float32s) -> Float32s:
        combination = np.zeros(rows.shape[-1], dtype=np.int64)
        unsure = np.zeros(rows.shape[-1], dtype=bool)
        end = 0
        for count in self.classes:
            start, end = end, end + count
            scores = rows[start:end]
            combination = combination * count + scores.argmax(axis=0)
            if self.least_share > 0:
                unsure |= _largest_share(scores) < np.float32(self.least_share)
        return np.where(unsure, self.reject, self.codes[combination]).astype(np.float32)[None]

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        fields = {"classes": list(self.classes), "codes": tensors.put(self.codes)}
        return tagged(self.op, fields | {"least_share": self.least_share, "reject": self.reject})

    @classmethod
    def read(cls, fields: JsonReader, tensors: TensorReader) -> "Argmax":
        codes = tensors.integers(fields.text("codes"), axes=1)
        return cls(fields.integers("classes"), codes, fields.number("least_share"), fields.integer("reject"))


def _largest_share(scores: Float32s) -> Float32s:
    """The softmax of the largest score."""
    return np.asarray(np.float32(1) / np.exp(scores - scores.max(axis=0)).sum(axis=0))


def _log_softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(all="ignore"):
        below = scores - scores.max(axis=1, keepdims=True)
        return np.asarray(below - np.log(np.exp(below).sum(axis=1, keepdims=True)))
