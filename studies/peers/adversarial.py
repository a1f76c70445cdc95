"""A learned sensor anonymiser: the anonymising autoencoder of Malekzadeh, Clegg, Cavallaro and Haddadi, "Mobile
Sensor Data Anonymization" (IoTDI 2019), made small.

Kept: an autoencoder whose loss weighs three things, distortion, the useful labels read from its output, and what
recognisers of the sensitive labels read from its code and from its output; recognisers and autoencoder learn in turns.
The release has no noise and no ε: it stops the recognisers it was trained against.
Simplified: dense layers where theirs are convolutions; all recognisers learn from the raw windows too, so that they
resemble apps and attackers that know nothing of the release; fixed weights and length instead of a search for them.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
from deeprotect.training.feature_extractors.autoencoder import Loss, softmax, useful_loss
from deeprotect.training.labelled_windows import LabelledWindows, Targets
from deeprotect.training.networks import Restore, Standardise, dense, initialise
from deeprotect.training.trainer import single_thread
from studies.peers.peer import PeerRelease, sensitive, targets

DISTORTION, USEFUL, HIDDEN = 1.0, 1.0, 1.0
"""Weights of the three parts of the loss."""
WIDTH = 128
STEPS, BATCH, LEARNING_RATE = 600, 256, 2e-3
SUREST = 1.0 - 1e-4  # keeps logarithms finite


class Networks(nn.Module):
    """Autoencoder and recognisers, all on standardised windows; the code has a quarter of a window's values."""

    def __init__(self, values: int, *, useful: int, hidden: int) -> None:
        super().__init__()
        code = max(2, values // 4)
        self.encoder = dense([values, WIDTH, code])
        self.decoder = dense([code, WIDTH, values])
        self.useful = dense([values, WIDTH, useful])
        self.on_output = dense([values, WIDTH, hidden])
        self.on_code = dense([code, WIDTH, hidden])

    def autoencoder(self) -> list[nn.Parameter]:
        return [*self.encoder.parameters(), *self.decoder.parameters()]

    def recognisers(self) -> list[nn.Parameter]:
        return [*self.useful.parameters(), *self.on_output.parameters(), *self.on_code.parameters()]


def fit(windows: LabelledWindows, policy: Policy, _epsilon: float | None) -> PeerRelease:
    """Learns to hide all sensitive inferences together and to keep all useful ones; a missing label costs nothing."""
    hidden, useful = sensitive(windows, policy, peer="adversarial"), targets(windows, policy.inferences.useful)
    with single_thread():
        network = train(windows.flat, useful, hidden, seed=policy.training.seed)

    @torch.no_grad()
    def release(private: Floats) -> Floats:
        return np.asarray(network(torch.tensor(private, dtype=torch.float32)), dtype=np.float64)

    return release


def train(windows: Floats, useful: Targets, hidden: Targets, *, seed: int) -> nn.Module:
    """The trained anonymiser, from flat windows to flat windows."""
    generator = torch.Generator().manual_seed(seed)
    standardise = Standardise(windows)
    networks = Networks(windows.shape[1], useful=sum(useful.counts), hidden=sum(hidden.counts))
    initialise(networks, generator)
    game = Game(networks, useful.counts, hidden.counts)
    rows = standardise(torch.tensor(windows, dtype=torch.float32)), *map(torch.tensor, (useful.codes, hidden.codes))
    sides = [
        (loss, weights, torch.optim.Adam(weights, lr=LEARNING_RATE, fused=True))
        for loss, weights in ((game.recognise, networks.recognisers()), (game.anonymise, networks.autoencoder()))
    ]
    for turn, chosen in enumerate(_batches(len(windows), 2 * STEPS, generator)):
        loss, weights, optimiser = sides[turn % 2]
        optimiser.zero_grad()
        loss(*(values[chosen] for values in rows)).backward(inputs=weights)  # type: ignore[no-untyped-call]
        optimiser.step()
    return nn.Sequential(standardise, networks.encoder, networks.decoder, Restore(standardise)).eval()


class Game:
    """The two losses for one batch of standardised windows and labels."""

    def __init__(self, networks: Networks, useful: tuple[int, ...], hidden: tuple[int, ...]) -> None:
        self._networks = networks
        self._useful = useful
        self._hidden = hidden

    def recognise(self, windows: Tensor, useful: Tensor, hidden: Tensor) -> Tensor:
        """Read all labels, from raw windows, from released ones and from codes."""
        with torch.no_grad():
            code = self._networks.encoder(windows)
            both = torch.cat([windows, self._networks.decoder(code)])
        read = self._read(both, useful.repeat(2, 1)) + self._reveal(softmax, both, hidden.repeat(2, 1))
        return read + self._cost(softmax, self._networks.on_code(code), hidden)

    def anonymise(self, windows: Tensor, useful: Tensor, hidden: Tensor) -> Tensor:
        """Stay close, stay useful, confuse."""
        code = self._networks.encoder(windows)
        output = self._networks.decoder(code)
        distortion = (output - windows).square().mean()
        confusion = self._reveal(confuse, output, hidden) + self._cost(confuse, self._networks.on_code(code), hidden)
        loss: Tensor = DISTORTION * distortion + USEFUL * self._read(output, useful) + HIDDEN * confusion
        return loss

    def _read(self, windows: Tensor, useful: Tensor) -> Tensor:
        return useful_loss(softmax, self._networks.useful(windows), useful, counts=self._useful)

    def _reveal(self, cost: Loss, windows: Tensor, hidden: Tensor) -> Tensor:
        return self._cost(cost, self._networks.on_output(windows), hidden)

    def _cost(self, cost: Loss, scores: Tensor, hidden: Tensor) -> Tensor:
        return useful_loss(cost, scores, hidden, counts=self._hidden)


def confuse(scores: Tensor, codes: Tensor) -> Tensor:
    """−log(1 − p_true) − log(1 − p_max) per row: neither right nor sure of a wrong one, after their identity loss."""
    chances = scores.softmax(dim=-1).clamp(max=SUREST)
    right = chances.gather(-1, codes[:, None]).squeeze(-1)
    return -torch.log1p(-right) - torch.log1p(-chances.amax(dim=-1))


def _batches(rows: int, count: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Shuffle after shuffle, cut into batches; what is left of a shuffle goes into the next one."""
    waiting = torch.empty(0, dtype=torch.long)
    for _ in range(count):
        while len(waiting) < BATCH:
            waiting = torch.cat([waiting, torch.randperm(rows, generator=generator)])
        yield waiting[:BATCH]
        waiting = waiting[BATCH:]
