"""The test bench: one split, the apps and attackers trained on raw windows, and the measuring of releases on it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deeprotect.errors import TableError
from deeprotect.evaluation.attackers import Targets, adaptive, best, from_useful, majority
from deeprotect.evaluation.intervals import wilson
from deeprotect.evaluation.models import Labels, Trained, train
from deeprotect.evaluation.results import Sensitive, Useful
from deeprotect.policy import Policy
from deeprotect.privacy.limits import best_accuracy
from deeprotect.signals.schema import Floats
from deeprotect.training.splits import contiguous
from deeprotect.training.windows import LabelledWindows

Release = Callable[[Floats], Floats]
"""From private to released windows, both flat and scaled (window, value)."""


@dataclass(frozen=True)
class Setup:
    """Who infers what: the app's model, the attackers' models, how many windows an attacker pools."""

    app: str = "random_forest"
    attackers: tuple[str, ...] = ("ridge", "random_forest")
    pools: tuple[int, ...] = (16,)
    held_out: float = 0.3
    seed: int = 0


@dataclass(frozen=True)
class Bench:
    """Everything that does not depend on the release, made once: `apps` and `attackers` know raw windows only."""

    train: LabelledWindows
    test: LabelledWindows
    setup: Setup
    useful: tuple[str, ...]
    apps: Mapping[str, Trained]
    attackers: Mapping[str, Sequence[Trained]]
    raw: Mapping[str, float]  # the best raw attacker of each sensitive inference, on raw windows

    @classmethod
    def prepare(cls, windows: LabelledWindows, policy: Policy, setup: Setup) -> "Bench":
        """Split in time inside recordings; train apps and attackers on raw windows."""
        useful, sensitive = policy.inferences.useful, policy.inferences.sensitive
        chosen = contiguous(windows, held_out=setup.held_out, seed=setup.seed)
        learn, test = (windows[part] for part in chosen)
        for name in (*useful, *sensitive):
            _check_labelled(name, learn, test)
        apps = {name: _train(setup.app, targets(learn, name), setup) for name in useful}
        attackers = {
            name: [_train(model, targets(learn, name), setup) for model in setup.attackers] for name in sensitive
        }
        raw = {name: best(attackers[name], targets(test, name)).accuracy for name in sensitive}
        return cls(learn, test, setup, useful, apps, attackers, raw)

    def measure(
        self, release: Release, *, guarantee: str, epsilon: float
    ) -> tuple[dict[str, Useful], dict[str, Sensitive]]:
        """Release both sides of the split and see what apps and attackers still read."""
        seen, tested = release(self.train.flat), release(self.test.flat)
        useful = {
            name: self._useful(name, seen, tested, limit=_limit(guarantee, epsilon, ("ldp",))) for name in self.apps
        }
        # A named promise bounds its sensitive inferences just as ldp bounds every inference.
        limit = _limit(guarantee, epsilon, ("ldp", "named"))
        return useful, {name: self._sensitive(name, seen, tested, limit=limit) for name in self.attackers}

    def _useful(self, name: str, seen: Floats, tested: Floats, *, limit: "Limit") -> Useful:
        learn, raw, test = self._targets(name, seen, tested)
        right = int((self.apps[name].predict(test.windows) == test.labels.astype(str)).sum())
        retrained = _train(self.setup.app, learn, self.setup)
        return Useful(
            clean=_accuracy(self.apps[name], raw),
            app=right / len(test.labels),
            app_ci=wilson(right, len(test.labels)),
            retrained=_accuracy(retrained, test),
            limit=limit(test.labels),
            chance=majority(test.labels),
        )

    def _sensitive(self, name: str, seen: Floats, tested: Floats, *, limit: "Limit") -> Sensitive:
        learn, _, test = self._targets(name, seen, tested)
        setup = self.setup
        attack = adaptive(learn, test, models=setup.attackers, pools=setup.pools, seed=setup.seed)
        return Sensitive(
            raw=self.raw[name],
            static=best(self.attackers[name], test).accuracy,
            adaptive=attack.accuracy,
            adaptive_ci=attack.interval,
            best_attacker=attack.attacker,
            pooled=attack.pooled,
            chance=majority(test.labels),
            from_useful=self._from_useful(name),
            limit=limit(test.labels),
        )

    def _targets(self, name: str, seen: Floats, tested: Floats) -> tuple[Targets, Targets, Targets]:
        """Released windows to learn from, raw and released windows to be tested on, all labelled."""
        learn, raw = targets(self.train, name), targets(self.test, name)
        return learn.released(seen[self.train.labelled(name)]), raw, raw.released(tested[self.test.labelled(name)])

    def _from_useful(self, name: str) -> float:
        learn, test = (side[side.labelled(name)] for side in (self.train, self.test))
        return from_useful(
            learn.targets(self.useful),
            learn.labels[name],
            test_useful=test.targets(self.useful),
            test_sensitive=test.labels[name],
        )


Limit = Callable[[Labels], float | None]


def _limit(guarantee: str, epsilon: float, bounded_by: tuple[str, ...]) -> Limit:
    """Acc* for the tested windows' own shares of classes, or None where ε bounds no accuracy."""

    def of(labels: Labels) -> float | None:
        if guarantee not in bounded_by:
            return None
        return best_accuracy(epsilon, np.unique(labels.astype(str), return_counts=True)[1])

    return of


def targets(side: LabelledWindows, name: str) -> Targets:
    """The raw windows that carry a label of this inference."""
    labelled = side[side.labelled(name)]
    return Targets(labelled.flat, labelled.labels[name], labelled.recording)


def _train(model: str, learn: Targets, setup: Setup) -> Trained:
    return train(model, learn.windows, learn.labels, seed=setup.seed)


def _accuracy(model: Trained, test: Targets) -> float:
    return float(np.mean(model.predict(test.windows) == test.labels.astype(str)))


def _check_labelled(name: str, learn: LabelledWindows, test: LabelledWindows) -> None:
    for side, what in ((learn, "to train on"), (test, "to test on")):
        if not side.labelled(name).any():
            raise TableError(f"no window {what} has a label '{name}'; give longer recordings or more of them")
