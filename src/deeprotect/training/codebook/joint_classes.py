"""Joint classes of the useful inferences, and the code that each of them gets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deeprotect.bundle.layers.decision import Argmax
from deeprotect.errors import TableError
from deeprotect.training.labelled_windows import Indices
from deeprotect.training.labels import Targets
from deeprotect.training.splits import Mask

MOST_CODES = 64
FEWEST_WINDOWS = 8
"""Of a joint class, below which it gets no code of its own."""


@dataclass(frozen=True)
class Joint:
    """Joint classes that are frequent enough for a code: each window's, their names, and where the others go."""

    codes: Indices
    names: tuple[str, ...]
    table: Indices

    def __getitem__(self, rows: Mask) -> "Joint":
        return replace(self, codes=self.codes[rows])

    @property
    def count(self) -> int:
        return len(self.names)

    def coding(self, counts: Sequence[int]) -> Argmax:
        """From scores to codes."""
        return Argmax(tuple(counts), self.table.astype(np.int32))

    @classmethod
    def of(cls, targets: Targets) -> "Joint":
        known = (targets.codes >= 0).all(axis=1)
        every, numbers, windows = np.unique(targets.codes[known], axis=0, return_inverse=True, return_counts=True)
        kept = np.flatnonzero(windows >= FEWEST_WINDOWS)
        kept = np.sort(kept[np.argsort(-windows[kept], kind="stable")][:MOST_CODES])
        if len(kept) < 2:
            raise TableError(
                f"only {len(kept)} combinations of the useful labels have {FEWEST_WINDOWS} windows or more; "
                "record more, or make windows shorter"
            )
        nearest = _nearest(every[kept], windows[kept], targets.counts)
        codes = np.full(len(targets.codes), -1, dtype=np.int64)
        place = np.full(len(every), -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        codes[known] = place[numbers.ravel()]
        return cls(codes, tuple(_name(row, targets) for row in every[kept]), nearest)


def _nearest(kept: Indices, windows: Indices, counts: Sequence[int]) -> Indices:
    """For every joint class the kept one that agrees with most of its parts, the more frequent on a tie."""
    every = np.stack(np.unravel_index(np.arange(int(np.prod(counts))), counts), axis=1)
    agreement = (every[:, None, :] == kept[None, :, :]).sum(axis=2) + windows / (windows.sum() + 1)
    return np.asarray(agreement.argmax(axis=1), dtype=np.int64)


def _name(row: Indices, targets: Targets) -> str:
    return " & ".join(str(classes[code]) for classes, code in zip(targets.classes, row, strict=True))
