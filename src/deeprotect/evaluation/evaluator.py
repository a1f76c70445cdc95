"""The test bench: one split, the apps and attackers trained on raw windows, and the measuring of releases on it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deeprotect.attack.attackers import Targets, attack, from_useful, reread
from deeprotect.attack.models import Trained, train
from deeprotect.attack.predictions import Guesses, Indices
from deeprotect.errors import TableError
from deeprotect.evaluation.fold_predictions import Apps, Attacks, Measured
from deeprotect.evaluation.stopwatch import Stopwatch
from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
from deeprotect.training.dataset import LabelledWindows

CODE_TABLE = "code_table"
"""The attacker who knows a code book, and so the code behind each released window."""


class Released(NamedTuple):
    """Released windows, flat and scaled (window, value), and the public code behind each where there is one."""

    windows: Floats
    code: Indices | None = None


Release = Callable[[Floats], Released]
"""From private to released windows."""


@dataclass(frozen=True)
class Setup:
    """Who infers what: the app's model, the attackers' models, how many windows an attacker pools."""

    app: str = "random_forest"
    attackers: tuple[str, ...] = ("ridge", "kernel_ridge", "random_forest", "gradient_boosting", "cnn")
    pools: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    seed: int = 0


@dataclass(frozen=True)
class Bench:
    """Everything that does not depend on the release, made once: `apps` and `attackers` know raw windows only.

    `clean`, `raw` and `told` are their guesses on raw test windows, and those from the true useful labels alone.
    """

    train: LabelledWindows
    test: LabelledWindows
    setup: Setup
    useful: tuple[str, ...]
    apps: Mapping[str, Trained]
    clean: Mapping[str, Guesses]
    attackers: Mapping[str, Mapping[str, Trained]]
    raw: Mapping[str, Mapping[str, tuple[Guesses, Mapping[int, Guesses]]]]
    told: Mapping[str, Guesses]

    @classmethod
    def prepare(cls, learn: LabelledWindows, test: LabelledWindows, policy: Policy, setup: Setup) -> "Bench":
        """Train apps and attackers on the raw windows of one side."""
        useful, sensitive = policy.inferences.useful, policy.inferences.sensitive
        for name in (*useful, *sensitive):
            _check_labelled(name, learn, test)
        fit = _Fit(setup, channels=len(policy.stream.channels))
        apps = {name: fit(setup.app, targets(learn, name)) for name in useful}
        clean = {name: _read(apps[name], targets(test, name)) for name in useful}
        attackers = {name: {model: fit(model, targets(learn, name)) for model in setup.attackers} for name in sensitive}
        raw = {
            name: {
                model: attack(each, targets(test, name), pools=setup.pools) for model, each in attackers[name].items()
            }
            for name in sensitive
        }
        told = {name: _told(name, learn, test, useful) for name in sensitive}
        return cls(learn, test, setup, useful, apps, clean, attackers, raw, told)

    def measure(self, release: Release, *, stopwatch: Stopwatch | None = None) -> Measured:
        """Release both sides of the split and see what apps and attackers still read."""
        stopwatch = stopwatch or Stopwatch()
        with stopwatch("release"):
            seen, tested = release(self.train.flat), release(self.test.flat)
        with stopwatch("apps"):
            useful = {name: self._apps(name, seen, tested) for name in self.apps}
        with stopwatch("attackers"):
            sensitive = {name: self._attacks(name, seen, tested) for name in self.attackers}
        channels = self.test.samples.shape[2]
        error = np.abs(tested.windows - self.test.flat).reshape(-1, channels).mean(axis=0)
        return Measured(useful, sensitive, error, len(self.test))

    def _apps(self, name: str, seen: Released, tested: Released) -> Apps:
        learn, test = self._released(name, seen.windows, tested.windows)
        retrained = self._fit(self.setup.app, learn)
        return Apps(self.clean[name], _read(self.apps[name], test), _read(retrained, test))

    def _attacks(self, name: str, seen: Released, tested: Released) -> Attacks:
        learn, test = self._released(name, seen.windows, tested.windows)
        setup, raw = self.setup, self.raw[name]
        attacks = {model: attack(self._fit(model, learn), test, pools=setup.pools) for model in setup.attackers}
        if seen.code is not None and tested.code is not None:
            known = self._released(name, seen.code[:, None].astype(float), tested.code[:, None].astype(float))
            attacks[CODE_TABLE] = attack(self._fit(CODE_TABLE, known[0]), known[1], pools=setup.pools)
        return Attacks(
            raw={model: window for model, (window, _) in raw.items()},
            static={model: reread(each, learn, test) for model, each in self.attackers[name].items()},
            adaptive={model: window for model, (window, _) in attacks.items()},
            pooled={size: {model: pooled[size] for model, (_, pooled) in attacks.items()} for size in setup.pools},
            pooled_raw={size: {model: pooled[size] for model, (_, pooled) in raw.items()} for size in setup.pools},
            told=self.told[name],
        )

    def _released(self, name: str, seen: Floats, tested: Floats) -> tuple[Targets, Targets]:
        """Released windows with labels, to learn from and to be tested on."""
        learn, test = targets(self.train, name), targets(self.test, name)
        return learn.released(seen[self.train.labelled(name)]), test.released(tested[self.test.labelled(name)])

    @property
    def _fit(self) -> "_Fit":
        return _Fit(self.setup, channels=self.train.samples.shape[2])


@dataclass(frozen=True)
class _Fit:
    """Models by name, all with the bench's seed."""

    setup: Setup
    channels: int

    def __call__(self, model: str, learn: Targets) -> Trained:
        return train(model, learn.windows, learn.labels, seed=self.setup.seed, channels=self.channels)


def targets(side: LabelledWindows, name: str) -> Targets:
    """The raw windows that carry a label of this inference."""
    labelled = side[side.labelled(name)]
    return Targets(labelled.flat, labelled.labels[name], labelled.recording)


def _read(app: Trained, test: Targets) -> Guesses:
    return test.judge(app.predict(test.windows))


def _told(name: str, learn: LabelledWindows, test: LabelledWindows, useful: tuple[str, ...]) -> Guesses:
    learn, test = (side[side.labelled(name)] for side in (learn, test))
    guess = from_useful(learn.targets(useful), learn.labels[name], test_useful=test.targets(useful))
    return targets(test, name).judge(guess)


def _check_labelled(name: str, learn: LabelledWindows, test: LabelledWindows) -> None:
    for side, what in ((learn, "to train on"), (test, "to test on")):
        if not side.labelled(name).any():
            raise TableError(f"no window {what} has a label '{name}'; give longer recordings or more of them")
    known = [{label for label in side.labels[name] if label is not None} for side in (learn, test)]
    if not known[0] & known[1]:
        raise TableError(f"no class of '{name}' is on both sides of the split; split in another way")
