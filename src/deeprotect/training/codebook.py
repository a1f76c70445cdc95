"""The code book: windows become one of K public codes, and codes become synthetic windows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.spatial.distance import cdist
from torch import Tensor, nn

from deeprotect.errors import TableError
from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
from deeprotect.training.crossfit import cross_fit
from deeprotect.training.labels import Targets
from deeprotect.training.misreadings import Costs, matrix
from deeprotect.training.synthesis import Outputs, synthesise
from deeprotect.training.windows import Indices, LabelledWindows

MOST_CODES = 64
COMPARED = 20  # windows of a code that stand for all of them when distances to outputs are taken
FEWEST_WINDOWS = 8  # of a joint class, below which it gets no code of its own
DOUBT = (
    0.5  # pseudo-windows of each class behind every code, so that a code never seen in cross-fitting is no certainty
)


class LookUp(nn.Module):
    """Released indices (row, 1) to public windows (row, value)."""

    windows: Tensor

    def __init__(self, windows: Floats) -> None:
        super().__init__()
        self.register_buffer("windows", torch.tensor(windows, dtype=torch.float32))

    def forward(self, index: Tensor) -> Tensor:
        return self.windows[index[:, 0].round().to(torch.int64).clamp(0, len(self.windows) - 1)]


@dataclass(frozen=True)
class CodeBook:
    """Everything about codes that does not depend on ε.

    `meaning[inference]` is P(class | code), (code, class) in the order of `outputs.classes`, and `prior` is P(code),
    both from windows coded by a model that did not learn from them; `coded` are those codes, one per training window.
    `distortion` (code, output) is how far an output lies from the code's windows, in L1.
    """

    encoder: nn.Module
    codes: tuple[str, ...]
    prior: Floats
    meaning: dict[str, Floats]
    coded: Indices
    outputs: Outputs
    distortion: Floats

    def cost(self, costs: Costs) -> Floats:
        """(code, output): what an app's misreadings cost, mean over useful inferences; without costs, how many."""
        saved = [
            meaning @ (1.0 - matrix(self.outputs.classes[name], costs.get(name, {}))) @ self.outputs.read[name].T
            for name, meaning in self.meaning.items()
        ]
        return np.asarray(1.0 - np.mean(saved, axis=0))


def fit_book(windows: LabelledWindows, policy: Policy) -> CodeBook:
    """Learn coder and outputs; cross-fit the coder over all windows for honest counts."""
    useful, seed = policy.inferences.useful, policy.training.seed
    targets = Targets.read(windows.targets(useful), len(windows))
    _check_several(windows, useful)
    joint = _Joint.of(targets)
    encoder, coded = cross_fit(windows, targets, policy, table=joint.table)
    outputs = synthesise(windows, joint.codes, useful=useful, people=windows.people, seed=seed)
    meaning = {
        name: _meaning(coded, targets.codes[:, place], codes=joint.count, classes=targets.counts[place])
        for place, name in enumerate(useful)
    }
    labelled = coded[(targets.codes >= 0).any(axis=1)]
    prior = np.bincount(labelled, minlength=joint.count) / len(labelled)
    distortion = _distortion(windows.flat, coded, outputs.samples)
    return CodeBook(encoder, joint.names, prior, meaning, coded, outputs, distortion)


def _check_several(windows: LabelledWindows, useful: Sequence[str]) -> None:
    """Targets leave out an inference of one class, and would no longer stand in the order of the useful ones."""
    for name in useful:
        if len(set(windows.labels[name][windows.labelled(name)])) < 2:
            raise TableError(f"the training windows show fewer than two classes of '{name}'; record more of it")


@dataclass(frozen=True)
class _Joint:
    """Joint classes that are frequent enough for a code: each window's, their names, and where the others go."""

    codes: Indices
    names: tuple[str, ...]
    table: Indices

    @property
    def count(self) -> int:
        return len(self.names)

    @classmethod
    def of(cls, targets: Targets) -> "_Joint":
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


def _distortion(flat: Floats, coded: Indices, outputs: Floats) -> Floats:
    """Mean L1 distance from windows of each code, a few spread over all of them, to each output's windows."""
    codes, variants, values = outputs.shape
    distances = np.zeros((codes, codes))
    for code in np.unique(coded):
        members = np.flatnonzero(coded == code)
        some = members[np.linspace(0, len(members) - 1, min(COMPARED, len(members))).astype(np.int64)]
        apart = cdist(flat[some], outputs.reshape(-1, values), metric="cityblock")
        distances[code] = apart.reshape(len(some), codes, variants).mean(axis=(0, 2))
    return distances


def _meaning(coded: Indices, truth: Indices, *, codes: int, classes: int) -> Floats:
    """P(class | code) of one inference; classes a priori as frequent as they are."""
    known = truth >= 0
    counts = np.zeros((codes, classes))
    np.add.at(counts, (coded[known], truth[known]), 1)
    counts += DOUBT * counts.sum(axis=0) / max(1.0, counts.sum())
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
