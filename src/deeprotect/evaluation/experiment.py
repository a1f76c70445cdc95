"""Mechanisms × ε on one bench: everything that rows can share is made once."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deeprotect.evaluation.bench import Bench
from deeprotect.evaluation.promises import promise
from deeprotect.evaluation.results import Reference, Row
from deeprotect.policy import Policy
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.signals.schema import Floats
from deeprotect.training.fit import learn
from deeprotect.training.minimiser import Minimiser
from deeprotect.training.parts import fitted
from deeprotect.training.protection import Protection
from deeprotect.training.threads import single_thread

Progress = Callable[[float], None]
"""Takes the share of the work that is done, 0 to 1."""


@dataclass(frozen=True)
class Option:
    """A mechanism with the guarantee it is asked to give; `minimiser` only where it is not the mechanism's own."""

    mechanism: str
    guarantee: str
    minimiser: str | None = None

    def policy(self, policy: Policy, epsilon: float) -> Policy:
        privacy = {"mechanism": self.mechanism, "guarantee": self.guarantee, "epsilon": epsilon}
        return policy.vary(privacy=privacy, training={"minimiser": self._minimiser})

    def minimiser_name(self, protection: Protection) -> str:
        return {"none": "none", "code book": "code book"}.get(protection.made_of["name"], self._minimiser)

    @property
    def _minimiser(self) -> str:
        return self.minimiser or ("paper" if self.mechanism == "paper" else "default")


OPTIONS = (
    Option("baseline", "ldp"),
    Option("paper", "ldp"),
    Option("laplace", "ldp"),
    Option("paper", "rldp"),
    Option("subspace", "rldp"),
    Option("channel", "ldp"),
    Option("channel", "named"),
)


@dataclass(frozen=True)
class Experiment:
    """Learns protections on the bench's training side and measures them on its test side."""

    bench: Bench
    policy: Policy
    _parts: dict[str, Any] = field(default_factory=dict)
    _protections: dict[tuple[Option, float], Protection] = field(default_factory=dict)

    def rows(self, options: Sequence[Option], epsilons: Sequence[float]) -> Iterator[Row]:
        """Mechanism by mechanism, ε growing; a row is yielded as soon as it is measured."""
        for option in options:
            for epsilon in epsilons:
                yield self.row(option, epsilon)

    def row(self, option: Option, epsilon: float) -> Row:
        protection = self.protection(option, epsilon)
        event = protection.mechanism.event
        useful, sensitive = self.bench.measure(
            self.release(protection), guarantee=event.guarantee, epsilon=event.epsilon
        )
        return Row(
            mechanism=option.mechanism,
            guarantee=event.guarantee,
            epsilon=event.epsilon,
            minimiser=option.minimiser_name(protection),
            useful=useful,
            sensitive=sensitive,
            promise=promise(event.guarantee, event.epsilon, sensitive=event.inferences),
        )

    def minimised(self, name: str = "default") -> Reference:
        """What the minimiser alone does, without noise and without any promise."""
        minimiser = self.minimiser(name)

        def release(private: Floats) -> Floats:
            return np.clip(minimiser.inverse_transform(minimiser.transform(private)), 0.0, 1.0)

        useful, sensitive = self.bench.measure(release, guarantee="none", epsilon=math.inf)
        return Reference(f"{self.policy.training.features} features, no noise", useful, sensitive)

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

    def release(self, protection: Protection) -> Callable[[Floats], Floats]:
        """Seeded, so that results repeat; a real release refuses this entropy."""
        entropy = SeededEntropy(self.bench.setup.seed)
        return lambda private: protection.release(private, entropy=entropy)
