"""Joint classes of the useful inferences, and the code that each of them gets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from deeprotect.bundle.layers.decision import Argmax
from deeprotect.bundle.layers.layer import Layer
from deeprotect.errors import TableError
from deeprotect.training.export import layers_of
from deeprotect.training.labelled_windows import Indices
from deeprotect.training.labels import Targets

MOST_CODES = 64
FEWEST_WINDOWS = 8
"""Of a joint class, below which it gets no code of its own."""
SURE = 1 / 3
"""A window of which no class of some inference has this share is named by nobody well."""


@dataclass(frozen=True)
class Joint:
    """Joint classes that are frequent enough for a code: each window's, their names, and where the others go."""

    codes: Indices
    names: tuple[str, ...]
    table: Indices

    @property
    def count(self) -> int:
        return len(self.names)

    def coding(self, counts: Sequence[int], *, abstaining: bool) -> "Codes":
        """From scores to codes; with one code more for windows nobody is sure of, where there can be such."""
        return Codes(counts, self.table, abstain=self.count if abstaining and max(counts) * SURE > 1 else None)

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


class Codes(nn.Module):
    """Scores of all inferences side by side to the number of the joint class, as a column of floats.

    Windows that are not named surely get the code `abstain`, whichever class they are nearest to.
    """

    table: Tensor

    def __init__(self, counts: Sequence[int], table: Indices, *, abstain: int | None = None) -> None:
        super().__init__()
        self.counts = list(counts)
        self.abstain = abstain
        self.register_buffer("table", torch.tensor(table))

    def forward(self, scores: Tensor) -> Tensor:
        blocks = torch.split(scores, self.counts, dim=-1)
        joint = torch.zeros_like(scores[:, 0], dtype=torch.int64)
        for count, block in zip(self.counts, blocks, strict=True):
            joint = joint * count + block.argmax(dim=-1)
        codes = self.table[joint]
        if self.abstain is not None:
            shares = [torch.softmax(block, dim=-1).amax(dim=-1) for block in blocks]
            codes = torch.where(torch.stack(shares).amin(dim=0) < SURE, self.abstain, codes)
        return codes[:, None].to(scores.dtype)


@layers_of.register
def _codes(module: Codes) -> Iterator[Layer]:
    classes, table = tuple(module.counts), module.table.numpy().astype(np.int64)
    yield Argmax(classes, table) if module.abstain is None else Argmax(classes, table, SURE, module.abstain)
