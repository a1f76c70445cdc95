"""Loss functions of the useful inferences: ridge, softmax, hinge; rows without a label add nothing."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

Loss = Callable[[Tensor, Tensor], Tensor]


def ridge(scores: Tensor, codes: Tensor) -> Tensor:
    """Squared distance to ±1 targets (paper, ridge loss), per row."""
    return (scores - _signs(scores, codes)).square().sum(dim=-1)


def softmax(scores: Tensor, codes: Tensor) -> Tensor:
    """Cross-entropy, per row."""
    return -functional.log_softmax(scores, dim=-1).gather(-1, codes[:, None]).squeeze(-1)


def hinge(scores: Tensor, codes: Tensor) -> Tensor:
    """The best wrong class must stay one below the right one (Crammer and Singer, 2001), per row."""
    right = scores.gather(-1, codes[:, None])
    rivals = scores + 1.0 - right - 2.0 * functional.one_hot(codes, scores.shape[-1])
    return rivals.amax(dim=-1).clamp(min=0.0)


def misread(scores: Tensor, codes: Tensor) -> Tensor:
    """1 where the best class is the wrong one, per row: not for descent, but for judging."""
    return (scores.argmax(dim=-1) != codes).to(scores.dtype)


LOSSES: dict[str, Loss] = {"ridge": ridge, "softmax": softmax, "hinge": hinge}


def useful_loss(loss: Loss, scores: Tensor, codes: Tensor, *, counts: Sequence[int]) -> Tensor:
    """Mean over the labelled rows of each inference, then over inferences; scores put all classes side by side."""
    total = scores.new_zeros(())
    for column, block in enumerate(torch.split(scores, list(counts), dim=-1)):
        known = codes[:, column] >= 0
        rows = loss(block, codes[:, column].clamp(min=0))
        total = total + (rows * known).sum() / known.sum().clamp(min=1)
    return total / max(1, len(counts))


def _signs(scores: Tensor, codes: Tensor) -> Tensor:
    return 2.0 * functional.one_hot(codes, scores.shape[-1]) - 1.0
