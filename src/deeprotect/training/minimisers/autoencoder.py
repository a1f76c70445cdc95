"""The default minimiser: an autoencoder whose few bounded features carry the useful inferences."""

from dataclasses import fields
from typing import Any

import torch
from torch import nn

from deeprotect.errors import InputError
from deeprotect.training.labels import Targets
from deeprotect.training.losses import LOSSES
from deeprotect.training.minimisers.autoencoder_loss import Minimising, Reading
from deeprotect.training.minimisers.linear import window_samples
from deeprotect.training.minimisers.minimiser import Floats, Minimiser
from deeprotect.training.networks import Restore, Standardise, convolution, dense, initialise
from deeprotect.training.trainer import Schedule, TrainingJob, hold_out, train

NETWORKS = ("dense", "conv")


class Autoencoder(Minimiser):
    """Features lie in [-1, 1]; the loss is reconstruction + mu * (useful labels unread in features and in windows).

    The reader of rebuilt windows is a classifier trained on raw windows and then frozen: it stands for the
    unmodified app. Sensitive inferences play no part (paper, section on data minimisation). `noise` is the
    standard deviation of noise on the features during training, so that they keep apart what must be told apart.

    Examples:
        >>> import numpy as np
        >>> labels = np.repeat(["rest", "walk"], 50)
        >>> windows = np.random.default_rng(0).random((100, 30)) * np.where(labels == "walk", 1.0, 0.1)[:, None]
        >>> features = Autoencoder(n_features=3, max_epochs=1, random_state=0).fit(windows, labels).transform(windows)
        >>> features.shape, bool(np.abs(features).max() <= 1)
        ((100, 3), True)
    """

    def __init__(
        self,
        n_features: int = 7,
        *,
        channels: int = 1,
        network: str = "dense",
        loss: str = "softmax",
        mu: float = 1.0,
        hidden: int = 256,
        noise: float = 0.05,
        max_epochs: int = 60,
        max_steps: int = 4000,
        batch_size: int = 256,
        learning_rate: float = 5e-3,
        patience: int = 20,
        held_out: float = 0.1,
        random_state: Any = None,
    ) -> None:
        self.n_features = n_features
        self.channels = channels
        self.network = network
        self.loss = loss
        self.mu = mu
        self.hidden = hidden
        self.noise = noise
        self.max_epochs = max_epochs
        self.max_steps = max_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.patience = patience
        self.held_out = held_out
        self.random_state = random_state

    def _learn(self, windows: Floats, targets: Targets) -> tuple[nn.Module, nn.Module]:
        schedule = Schedule(**{field.name: getattr(self, field.name) for field in fields(Schedule)})
        networks = _Networks(self, windows, targets)
        if targets.counts:
            train(networks.reading(), schedule)
        train(networks.minimising(), schedule)
        return networks.result()


class _Networks:
    """What is trained: networks, rows, randomness."""

    def __init__(self, model: Autoencoder, windows: Floats, targets: Targets) -> None:
        if model.network not in NETWORKS or model.loss not in LOSSES:
            raise InputError(f"network is one of {', '.join(NETWORKS)} and loss one of {', '.join(LOSSES)}")
        self.targets = targets
        self._model = model
        self._windows = windows
        self._generator = model._generator()
        self._standardise = Standardise(windows)
        values, outputs = windows.shape[1], sum(targets.counts)
        # The encoder has the hard work; half its width is enough for the others.
        half = max(1, model.hidden // 2)
        self._reader = self._fresh(dense([values, half, half, outputs]) if outputs else nn.Identity())
        self._encoder = self._fresh(nn.Sequential(self._layers(values), nn.Tanh()))
        self._decoder = self._fresh(dense([model._n_features_out, half, half, values]))
        self._head = self._fresh(dense([model._n_features_out, outputs]) if outputs else nn.Identity())

    def reading(self) -> TrainingJob:
        objective = Reading(self._standardise, self._reader, counts=self.targets.counts)
        return self._job(objective, noise=self._windows.shape[1])

    def minimising(self) -> TrainingJob:
        objective = Minimising(
            self._standardise,
            self._encoder,
            decoder=self._decoder,
            head=self._head,
            reader=self._reader,
            loss=LOSSES[self._model.loss],
            counts=self.targets.counts,
            mu=self._model.mu,
            noise=self._model.noise,
        )
        return self._job(objective, noise=self._model._n_features_out)

    def result(self) -> tuple[nn.Module, nn.Module]:
        encoder = nn.Sequential(self._standardise, self._encoder)
        return encoder, nn.Sequential(self._decoder, Restore(self._standardise))

    def _job(self, objective: nn.Module, *, noise: int) -> TrainingJob:
        rows = torch.tensor(self._windows, dtype=torch.float32), torch.tensor(self.targets.codes)
        aside = torch.tensor(hold_out(len(self._windows), self._model.held_out))
        seen, held_out = ((rows[0][part], rows[1][part]) for part in (~aside, aside))
        return TrainingJob(objective, seen, held_out=held_out, noise=noise, generator=self._generator)

    def _layers(self, values: int) -> nn.Module:
        hidden, features = self._model.hidden, self._model._n_features_out
        samples = window_samples(values, self._model.channels)
        if self._model.network == "dense":
            return dense([values, hidden, hidden, features])
        return convolution(samples, self._model.channels, filters=max(1, hidden // 8), widths=[hidden, features])

    def _fresh(self, module: nn.Module) -> nn.Module:
        return initialise(module, self._generator)
