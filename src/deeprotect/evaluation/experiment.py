"""Options × ε on one bench: everything that rows can share is made once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deeprotect.attack.split_spec import Cut
from deeprotect.evaluation.evaluator import Bench, Release, Released, Setup
from deeprotect.evaluation.fold_predictions import Measured
from deeprotect.evaluation.methods import FEATURES, Option
from deeprotect.evaluation.peers import PEERS
from deeprotect.evaluation.results import Row
from deeprotect.evaluation.stopwatch import Stopwatch
from deeprotect.policy import Policy
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.guarantees import promise
from deeprotect.signals.schema import Floats
from deeprotect.training.dataset import LabelledWindows
from deeprotect.training.fit import learn
from deeprotect.training.fitted import fitted
from deeprotect.training.minimisers.minimiser import Minimiser
from deeprotect.training.threads import single_thread
from deeprotect.training.trained import Protection

Progress = Callable[[float], None]
"""Takes the share of the work that is done, 0 to 1."""


@dataclass(frozen=True)
class Experiment:
    """Learns protections on the bench's training side and measures them on its test side."""

    bench: Bench
    policy: Policy
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    _parts: dict[str, Any] = field(default_factory=dict)
    _protections: dict[tuple[Option, float], Protection] = field(default_factory=dict)

    @classmethod
    def on(cls, windows: LabelledWindows, policy: Policy, setup: Setup) -> "Experiment":
        """On one split in time inside recordings."""
        (sides,) = Cut().sides(windows, seed=setup.seed)
        return cls(Bench.prepare(windows[sides.learn], windows[sides.test], policy, setup), policy)

    def rows(self, options: Sequence[Option], epsilons: Sequence[float]) -> Iterator[Row]:
        """Mechanism by mechanism, ε growing; a row is yielded as soon as it is measured."""
        for option in options:
            for epsilon in option.at(epsilons):
                yield self.row(option, epsilon)

    def row(self, option: Option, epsilon: float) -> Row:
        return sum_up(option, epsilon, self.measure(option, epsilon), policy=self.policy)

    def measure(self, option: Option, epsilon: float) -> Measured:
        return self.bench.measure(self.release(option, epsilon), stopwatch=self.stopwatch)

    def release(self, option: Option, epsilon: float) -> Release:
        """Seeded, so that results repeat; a real release refuses this entropy."""
        with self.stopwatch(f"learning {option.mechanism}"):
            return self._release(option, epsilon)

    def _release(self, option: Option, epsilon: float) -> Release:
        if option.mechanism == FEATURES:
            return self._features()
        if option.mechanism in PEERS:
            peer = PEERS[option.mechanism].fit(
                self.bench.train, self.policy, epsilon if option.epsilon_matters else None
            )
            return lambda private: Released(peer(private))
        return _seeded(self.protection(option, epsilon), self.bench.setup.seed)

    def protection(self, option: Option, epsilon: float) -> Protection:
        """Fitted on training windows, once; minimisers once for all protections that use them."""
        if (option, epsilon) not in self._protections:
            self._protections[option, epsilon] = learn(
                self.bench.train, option.policy(self.policy, epsilon), parts=self._parts
            )
        return self._protections[option, epsilon]

    def minimiser(self, name: str) -> Minimiser:
        """The same minimisers by name, for those who want features and no noise."""
        policy = self.policy.vary(privacy={"mechanism": "auto"}, training={"minimiser": name})
        with single_thread():
            return fitted(self.bench.train, policy, self._parts)

    def _features(self) -> Release:
        minimiser = self.minimiser("default")
        return lambda private: Released(np.clip(minimiser.inverse_transform(minimiser.transform(private)), 0.0, 1.0))


def sum_up(option: Option, epsilon: float, measured: Measured, *, policy: Policy) -> Row:
    """One line of the results, from one fold or several joined."""
    bound = epsilon if option.epsilon_matters else None
    useful, sensitive = measured.sum_up(option.guarantee, bound)
    channels = policy.schema().channels
    spans = [channel.high - channel.low for channel in channels]
    return Row(
        mechanism=option.mechanism,
        guarantee=option.guarantee,
        epsilon=bound,
        minimiser=option.made_of,
        useful=useful,
        sensitive=sensitive,
        promise=promise(option.guarantee, bound, sensitive=policy.inferences.sensitive),
        signal={
            channel.name: float(error * span)
            for channel, error, span in zip(channels, measured.error, spans, strict=True)
        },
    )


def _seeded(protection: Protection, seed: int) -> Release:
    entropy, mechanism = SeededEntropy(seed), protection.mechanism

    def release(private: Floats) -> Released:
        noisy = mechanism.privatise(protection.encode(private), entropy=entropy)
        # The code book is public: whoever sees a released window knows the code behind it.
        return Released(protection.decode(noisy), mechanism.output_of(noisy))

    return release
