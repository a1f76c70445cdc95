"""A conditional variational autoencoder whose private attribute is randomised: the idea of ObscureNet (Hajihassani,
Ardakanian and Khazaei, IoTDI 2021), made small and written from the paper.

Kept: latents that an adversary cannot read the private attribute from, a decoder that gets useful and private class,
and a release in which the private class is drawn uniformly. The release has no ε.
Simplified: dense layers; one network that gets the useful class, where theirs has one network for each; the useful
class is guessed by a classifier that learns on the side.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
from deeprotect.training.feature_extractors.autoencoder import softmax, useful_loss
from deeprotect.training.labelled_windows import LabelledWindows, Targets
from deeprotect.training.networks import Restore, Standardise, dense, initialise
from deeprotect.training.trainer import single_thread
from studies.peers.peer import PeerRelease, sensitive, targets

LATENTS, WIDTH = 32, 192
DIVERGENCE, HIDDEN = 0.05, 0.5
"""Weights of the Kullback–Leibler term and of the adversary, beside a reconstruction error summed over the window."""
STEPS, BATCH, LEARNING_RATE = 1500, 256, 1e-3
SUREST = 1.0 - 1e-4  # keeps logarithms finite


class Networks(nn.Module):
    """All of them see standardised windows; classes of several inferences stand side by side, one-hot."""

    def __init__(self, values: int, *, useful: int, hidden: int) -> None:
        super().__init__()
        self.encoder = dense([values, WIDTH, 2 * LATENTS])
        self.decoder = dense([LATENTS + useful + hidden, WIDTH, values])
        self.useful = dense([values, WIDTH, useful])
        self.adversary = dense([LATENTS, WIDTH, hidden])

    def sample(self, windows: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Latents, and how far their law is from a standard normal one."""
        mean, log_variance = self.encoder(windows).chunk(2, dim=-1)
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1.0 - log_variance).sum(dim=-1).mean()
        return mean + noise * (0.5 * log_variance).exp(), divergence


def fit(windows: LabelledWindows, policy: Policy, _epsilon: float | None) -> PeerRelease:
    """Learns to hide all sensitive inferences together and to keep all useful ones."""
    hidden, useful = sensitive(windows, policy, peer="conditional"), targets(windows, policy.inferences.useful)
    with single_thread():
        standardise, networks = train(windows.flat, useful, hidden, seed=policy.training.seed)
    restore, generator = Restore(standardise), torch.Generator().manual_seed(policy.training.seed)

    @torch.no_grad()
    def release(private: Floats) -> Floats:
        rows = standardise(torch.tensor(private, dtype=torch.float32))
        guessed = torch.cat(
            [_onehot(block.argmax(-1), block.shape[-1]) for block in _blocks(networks, rows, useful)], -1
        )
        drawn = torch.cat(
            [_onehot(torch.randint(count, (len(rows),), generator=generator), count) for count in hidden.counts], -1
        )
        latents, _ = networks.sample(rows, torch.randn(len(rows), LATENTS, generator=generator))
        return np.asarray(restore(networks.decoder(torch.cat([latents, guessed, drawn], -1))), dtype=np.float64)

    return release


def _blocks(networks: Networks, rows: Tensor, useful: Targets) -> Iterator[Tensor]:
    yield from torch.split(networks.useful(rows), list(useful.counts), dim=-1)


def train(windows: Floats, useful: Targets, hidden: Targets, *, seed: int) -> tuple[Standardise, Networks]:
    """Autoencoder and adversary learn in turns, on windows that have all labels."""
    generator = torch.Generator().manual_seed(seed)
    standardise = Standardise(windows)
    networks = Networks(windows.shape[1], useful=sum(useful.counts), hidden=sum(hidden.counts))
    initialise(networks, generator)
    rows = standardise(torch.tensor(windows, dtype=torch.float32))
    codes = torch.tensor(useful.codes), torch.tensor(hidden.codes)
    known = torch.nonzero((codes[0] >= 0).all(-1) & (codes[1] >= 0).all(-1)).squeeze(-1)
    kept = [*networks.encoder.parameters(), *networks.decoder.parameters(), *networks.useful.parameters()]
    optimisers = [torch.optim.Adam(each, lr=LEARNING_RATE) for each in (kept, networks.adversary.parameters())]
    for turn in range(2 * STEPS):
        chosen = known[torch.randint(len(known), (min(BATCH, len(known)),), generator=generator)]
        noise = torch.randn(len(chosen), LATENTS, generator=generator)
        loss = _loss if turn % 2 == 0 else _adversary_loss
        optimiser = optimisers[turn % 2]
        optimiser.zero_grad()
        loss(networks, rows[chosen], codes[0][chosen], codes[1][chosen], useful, hidden, noise).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return standardise, networks.eval()


def _loss(
    networks: Networks,
    rows: Tensor,
    useful_codes: Tensor,
    hidden_codes: Tensor,
    useful: Targets,
    hidden: Targets,
    noise: Tensor,
) -> Tensor:
    latents, divergence = networks.sample(rows, noise)
    told = torch.cat([latents, _side_by_side(useful_codes, useful), _side_by_side(hidden_codes, hidden)], -1)
    error = (networks.decoder(told) - rows).square().sum(dim=-1).mean()
    read = useful_loss(softmax, networks.useful(rows), useful_codes, counts=useful.counts)
    found = useful_loss(_hidden, networks.adversary(latents), hidden_codes, counts=hidden.counts)
    loss: Tensor = error + DIVERGENCE * divergence + read + HIDDEN * len(rows[0]) * found
    return loss


def _adversary_loss(
    networks: Networks,
    rows: Tensor,
    _useful_codes: Tensor,
    hidden_codes: Tensor,
    _useful: Targets,
    hidden: Targets,
    noise: Tensor,
) -> Tensor:
    with torch.no_grad():
        latents, _ = networks.sample(rows, noise)
    return useful_loss(softmax, networks.adversary(latents), hidden_codes, counts=hidden.counts)


def _hidden(scores: Tensor, codes: Tensor) -> Tensor:
    """−log(1 − p_true) per row: the adversary should not be right."""
    right = scores.softmax(dim=-1).clamp(max=SUREST).gather(-1, codes[:, None]).squeeze(-1)
    return -torch.log1p(-right)


def _side_by_side(codes: Tensor, known: Targets) -> Tensor:
    return torch.cat([_onehot(codes[:, column], count) for column, count in enumerate(known.counts)], -1)


def _onehot(codes: Tensor, count: int) -> Tensor:
    return one_hot(codes, count).to(torch.float32)
