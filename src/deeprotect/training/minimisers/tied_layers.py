"""Layers of tied, orthonormal sigmoid units (paper, Algorithm 1), one per model along a leading model axis."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import torch
from torch import Tensor

from deeprotect.training.minimisers.linear import affine


@dataclass(frozen=True)
class Rows:
    """One model's training rows: inputs (row, value), signs (row, class; 0 = no label), and its randomness."""

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
class TiedLayers:
    """W (model, unit, value), its biases (model, 1, unit or value) and the ridge reader c (model, value, class)."""

    W: Tensor
    b_e: Tensor
    b_d: Tensor
    c: Tensor

    @classmethod
    def start(cls, rows: Sequence[Rows], units: int) -> Self:
        """Small random values near zero (paper, appendix), each model's from its own generator."""
        values, classes = rows[0].inputs.shape[1], rows[0].signs.shape[1]
        shapes = ((units, values), (1, units), (1, values), (values, classes))
        return cls(
            *(torch.stack([0.1 * torch.randn(shape, generator=row.generator) for row in rows]) for shape in shapes)
        ).orthonormal()

    def parts(self) -> tuple[Tensor, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))

    def encode(self, inputs: Tensor) -> Tensor:
        return torch.sigmoid(inputs @ self.W.mT + self.b_e)

    def decode(self, features: Tensor) -> Tensor:
        return torch.sigmoid(features @ self.W + self.b_d)

    def orthonormal(self) -> Self:
        """W := (WWᵀ)^(-1/2) W, which sets every singular value to one (paper, appendix)."""
        powers, vectors = torch.linalg.eigh(self.W @ self.W.mT)
        root = (vectors * powers.clamp(min=1e-12).rsqrt()[:, None, :]) @ vectors.mT
        return type(self)(root @ self.W, self.b_e, self.b_d, self.c)

    def modules(self, model: int) -> tuple[torch.nn.Module, torch.nn.Module]:
        """One model's encoder and decoder."""
        W, b_e, b_d, _ = (part[model].double() for part in self.parts())
        sigmoid = torch.nn.Sigmoid
        return (
            torch.nn.Sequential(affine(W, b_e[0]), sigmoid()),
            torch.nn.Sequential(affine(W.mT, b_d[0]), sigmoid()),
        )


def descend(rows: Sequence[Rows], units: int, *, constants: Constants) -> TiedLayers:
    """Algorithm 1 for every model at once: gradient step, then back to orthonormal weights."""
    layers = TiedLayers.start(rows, units)
    for _ in range(constants.max_iter):
        drawn = [row.draw(constants.batch_size) for row in rows]
        inputs, signs = (torch.stack(values) for values in zip(*drawn, strict=True))
        parts = tuple(part.requires_grad_() for part in layers.parts())
        steps = torch.autograd.grad(objective(layers, inputs, signs, constants=constants).sum(), parts)
        with torch.no_grad():
            moved = (part - constants.alpha * step for part, step in zip(parts, steps, strict=True))
            layers = TiedLayers(*moved).orthonormal()
    return layers


def objective(layers: TiedLayers, inputs: Tensor, signs: Tensor, *, constants: Constants) -> Tensor:
    """J of each model (paper, final objective); means over rows, useful term divided by the number of values."""
    features = layers.encode(inputs)
    rebuilt = layers.decode(features)
    loss = (inputs - rebuilt).square().sum(dim=-1).mean(dim=-1)
    misread = (rebuilt @ layers.c - signs).square() * signs.abs()
    useful = misread.sum(dim=-1).mean(dim=-1) + constants.beta * layers.c.square().sum(dim=(-2, -1))
    decay = constants.decay * layers.W.square().sum(dim=(-2, -1))
    sparsity = constants.sparsity * _divergence(constants.rho, features.mean(dim=-2)).sum(dim=-1)
    return loss + constants.mu / inputs.shape[-1] * useful + decay + sparsity


def _divergence(rho: float, activity: Tensor) -> Tensor:
    """KL between Bernoulli variables of mean rho and of the units' mean activity."""
    target = torch.tensor(rho)
    return target * (target / activity).log() + (1 - target) * ((1 - target) / (1 - activity)).log()
