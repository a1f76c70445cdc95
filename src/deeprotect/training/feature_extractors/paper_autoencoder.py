"""The paper's autoencoder, literally: Algorithm 1 and its appendix, gradients by automatic differentiation."""

from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, Self

import torch
from torch import Tensor, nn

from deeprotect.training.feature_extractors.feature_extractor import FeatureExtractor, Floats, affine
from deeprotect.training.labelled_windows import Targets


@dataclass(eq=False, repr=False)
class PaperAutoencoder(FeatureExtractor):
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

    n_features: int = 7
    _: KW_ONLY
    hidden: tuple[int, ...] = (15,)
    alpha: float = 0.1
    mu: float = 1.0
    beta: float = 1e-3
    decay: float = 1e-4
    sparsity: float = 1e-3
    rho: float = 0.5
    max_iter: int = 3000
    batch_size: int = 64
    random_state: Any = None

    def _learn(self, windows: Floats, targets: Targets) -> tuple[nn.Module, nn.Module]:
        """Train layer by layer: the features of one layer are the input of the next (paper, appendix on stacking)."""
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


@dataclass(frozen=True)
class TrainingRows:
    """Inputs (row, value), signs (row, class; 0 = no label), and the randomness for drawing them."""

    inputs: Tensor
    signs: Tensor
    generator: torch.Generator

    def draw(self, count: int) -> tuple[Tensor, Tensor]:
        index = torch.randint(len(self.inputs), (count,), generator=self.generator)
        return self.inputs[index], self.signs[index]


@dataclass(frozen=True)
class Constants:
    """The weights of the objective's terms and the descent's step, by the paper's names."""

    alpha: float
    mu: float
    beta: float
    decay: float
    sparsity: float
    rho: float
    max_iter: int
    batch_size: int


@dataclass(frozen=True)
class TiedLayer:
    """W (unit, value), its biases (unit or value,) and the ridge classifier c (value, class)."""

    W: Tensor
    b_e: Tensor
    b_d: Tensor
    c: Tensor

    @classmethod
    def start(cls, rows: TrainingRows, units: int) -> Self:
        """Small random values near zero (paper, appendix)."""
        values, classes = rows.inputs.shape[1], rows.signs.shape[1]
        shapes = ((units, values), (units,), (values,), (values, classes))
        return cls(*(0.1 * torch.randn(shape, generator=rows.generator) for shape in shapes)).orthonormal()

    def parts(self) -> tuple[Tensor, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))

    def encode(self, inputs: Tensor) -> Tensor:
        return torch.sigmoid(inputs @ self.W.mT + self.b_e)

    def decode(self, features: Tensor) -> Tensor:
        return torch.sigmoid(features @ self.W + self.b_d)

    def orthonormal(self) -> Self:
        """W := (WWᵀ)^(-1/2) W, which sets every singular value to one (paper, appendix)."""
        powers, vectors = torch.linalg.eigh(self.W @ self.W.mT)
        root = (vectors * powers.clamp(min=1e-12).rsqrt()) @ vectors.mT
        return type(self)(root @ self.W, self.b_e, self.b_d, self.c)

    def modules(self) -> tuple[torch.nn.Module, torch.nn.Module]:
        """Encoder and decoder."""
        W, b_e, b_d, _ = (part.double() for part in self.parts())
        sigmoid = torch.nn.Sigmoid
        return torch.nn.Sequential(affine(W, b_e), sigmoid()), torch.nn.Sequential(affine(W.mT, b_d), sigmoid())


def descend(rows: TrainingRows, units: int, *, constants: Constants) -> TiedLayer:
    """Algorithm 1: gradient step, then back to orthonormal weights."""
    layer = TiedLayer.start(rows, units)
    for _ in range(constants.max_iter):
        inputs, signs = rows.draw(constants.batch_size)
        parts = tuple(part.requires_grad_() for part in layer.parts())
        steps = torch.autograd.grad(objective(layer, inputs, signs, constants=constants), parts)
        with torch.no_grad():
            moved = (part - constants.alpha * step for part, step in zip(parts, steps, strict=True))
            layer = TiedLayer(*moved).orthonormal()
    return layer


def objective(layer: TiedLayer, inputs: Tensor, signs: Tensor, *, constants: Constants) -> Tensor:
    """J (paper, final objective); means over rows, useful term divided by the number of values."""
    features = layer.encode(inputs)
    rebuilt = layer.decode(features)
    loss = (inputs - rebuilt).square().sum(dim=-1).mean()
    misread = (rebuilt @ layer.c - signs).square() * signs.abs()
    useful = misread.sum(dim=-1).mean() + constants.beta * layer.c.square().sum()
    decay = constants.decay * layer.W.square().sum()
    sparsity = constants.sparsity * _divergence(constants.rho, features.mean(dim=-2)).sum()
    return loss + constants.mu / inputs.shape[-1] * useful + decay + sparsity


def _divergence(rho: float, activity: Tensor) -> Tensor:
    """KL divergence between Bernoulli variables with mean rho and with the units' mean activity."""
    target = torch.tensor(rho)
    return target * (target / activity).log() + (1 - target) * ((1 - target) / (1 - activity)).log()
