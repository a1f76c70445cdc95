"""Blind compressive sensing: a dictionary learnt from windows, and the sparse code of a window in it."""

from typing import Any

import numpy as np
import torch
from sklearn.decomposition import MiniBatchDictionaryLearning
from sklearn.utils import check_random_state
from torch import Tensor, nn
from torch.nn import functional

from deeprotect.training.feature_extractors.feature_extractor import FeatureExtractor, Floats, affine
from deeprotect.training.labelled_windows import Targets


class SparseCode(nn.Module):
    """A fixed number of shrinkage steps (ISTA; Daubechies et al., 2004) towards
    argmin ½‖x − mean − Dᵀf‖² + alpha‖f‖₁, atoms D (feature, value)."""

    mean: Tensor
    analysis: Tensor
    carry: Tensor

    def __init__(self, atoms: Floats, mean: Floats, *, alpha: float, steps: int) -> None:
        super().__init__()
        gram = atoms @ atoms.T
        # The step is 1 / the largest eigenvalue, the longest one that never overshoots.
        step = 1.0 / max(float(np.linalg.eigvalsh(gram)[-1]), 1e-12)
        self.register_buffer("mean", torch.tensor(mean))
        self.register_buffer("analysis", torch.tensor(step * atoms.T))
        self.register_buffer("carry", torch.tensor(np.eye(len(atoms)) - step * gram))
        self.threshold = step * alpha
        self.steps = steps

    def forward(self, windows: Tensor) -> Tensor:
        drive = (windows - self.mean) @ self.analysis
        code = self._shrink(drive)
        for _ in range(self.steps - 1):
            code = self._shrink(code @ self.carry + drive)
        return code

    def _shrink(self, code: Tensor) -> Tensor:
        return functional.relu(code - self.threshold) - functional.relu(-code - self.threshold)


class BlindCompressiveSensing(FeatureExtractor):
    """As many atoms as features; `alpha` weighs sparsity, in units of the windows' root mean square deviation.

    Examples:
        >>> windows = np.random.default_rng(0).random((40, 30))
        >>> BlindCompressiveSensing(n_features=4, max_iter=2, random_state=0).fit_transform(windows).shape
        (40, 4)
    """

    def __init__(
        self,
        n_features: int = 7,
        *,
        alpha: float = 0.1,
        steps: int = 30,
        max_iter: int = 50,
        random_state: Any = None,
    ) -> None:
        self.n_features = n_features
        self.alpha = alpha
        self.steps = steps
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn(self, windows: Floats, _: Targets) -> tuple[nn.Module, nn.Module]:
        mean = windows.mean(axis=0)
        alpha = self.alpha * max(float(windows.std()), 1e-6)
        atoms = self._dictionary(windows - mean, alpha)
        return SparseCode(atoms, mean, alpha=alpha, steps=self.steps), affine(atoms.T, mean)

    def _dictionary(self, centred: Floats, alpha: float) -> Floats:
        learner = MiniBatchDictionaryLearning(
            self._n_features_out,
            alpha=alpha,
            max_iter=self.max_iter,
            fit_algorithm="cd",
            random_state=check_random_state(self.random_state),
        )
        # Its coordinate descent draws a seed that it does not use, from the generator that belongs to everyone.
        before = np.random.get_state()
        try:
            self.n_iter_ = int(learner.fit(centred).n_iter_)
        finally:
            np.random.set_state(before)
        return np.asarray(learner.components_, dtype=np.float64)
