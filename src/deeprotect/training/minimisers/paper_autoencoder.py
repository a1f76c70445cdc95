"""The paper's autoencoder, literally: Algorithm 1 and its appendix, gradients by automatic differentiation."""

from dataclasses import fields, replace
from typing import Any

import torch
from torch import nn

from deeprotect.training.labels import Targets
from deeprotect.training.minimisers.minimiser import Floats, Minimiser
from deeprotect.training.minimisers.tied_layers import Constants, TrainingRows, descend


class PaperAutoencoder(Minimiser):
    """Greedily stacked sigmoid layers with tied, orthonormal weights, supervised by ridge on the reconstruction.

    Per layer it minimises, by stochastic gradient descent with step `alpha`,
    mean‖x − x̃‖² + (mu/d)(beta‖c‖² + mean‖cᵀx̃ − y‖²) + decay‖W‖² + sparsity Σ KL(rho ‖ rhohat),
    and after every step puts W back to WWᵀ = I. Means replace the paper's sums over windows, and the useful term is
    divided by the input's length d: so alpha = 0.1 is stable for any number of rows and values while mu < 10.
    The paper gives alpha = 0.1 and layers of 15 and 7 units; the other constants are ours.

    Examples:
        >>> import numpy as np
        >>> windows, labels = np.random.default_rng(0).random((40, 30)), ["rest", "walk"] * 20
        >>> PaperAutoencoder(max_iter=5, random_state=0).fit(windows, labels).transform(windows).shape
        (40, 7)
    """

    def __init__(
        self,
        n_features: int = 7,
        *,
        hidden: tuple[int, ...] = (15,),
        alpha: float = 0.1,
        mu: float = 1.0,
        beta: float = 1e-3,
        decay: float = 1e-4,
        sparsity: float = 1e-3,
        rho: float = 0.5,
        max_iter: int = 3000,
        batch_size: int = 64,
        random_state: Any = None,
    ) -> None:
        self.n_features = n_features
        self.hidden = hidden
        self.alpha = alpha
        self.mu = mu
        self.beta = beta
        self.decay = decay
        self.sparsity = sparsity
        self.rho = rho
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.random_state = random_state

    def _learn(self, windows: Floats, targets: Targets) -> tuple[nn.Module, nn.Module]:
        """Layer by layer: what one layer extracts is the input of the next (paper, appendix on stacking)."""
        constants = Constants(**{field.name: getattr(self, field.name) for field in fields(Constants)})
        inputs, signs = (torch.tensor(values, dtype=torch.float32) for values in (windows, targets.signs()))
        rows, self.n_iter_ = TrainingRows(inputs, signs, self._generator()), self.max_iter
        encoders: list[nn.Module] = []
        decoders: list[nn.Module] = []
        for units in (*self.hidden, self.n_features):
            encoder, decoder = descend(rows, min(units, rows.inputs.shape[1]), constants=constants).modules()
            encoders.append(encoder)
            decoders.insert(0, decoder)
            with torch.no_grad():
                rows = replace(rows, inputs=encoder(rows.inputs.double()).float())
        return nn.Sequential(*encoders), nn.Sequential(*decoders)
