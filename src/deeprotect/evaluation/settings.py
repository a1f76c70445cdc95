"""A setting: what is varied from one release to the next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deeprotect.errors import InputError
from deeprotect.evaluation.methods import Method
from deeprotect.policy import Policy
from deeprotect.signals import Hold


@dataclass(frozen=True)
class Setting:
    """A method at an ε, where it promises one; the others only where they are not the policy's."""

    method: Method
    epsilon: float | None = None
    features: int | None = None
    given: str | None = None
    ldp_ceiling: float | None = None
    every: str | None = None
    slots: str | None = None
    changes: int | None = None
    enrolled: bool = False  # tested people have coders of their own, learnt from what the split keeps for that

    def __post_init__(self) -> None:
        if self.method.epsilon_matters and not (self.epsilon or 0.0) > 0.0:
            raise InputError("epsilon must be positive, and there must be one")

    def policy(self, policy: Policy) -> Policy:
        privacy: dict[str, Any] = {
            "mechanism": self.method.mechanism,
            "guarantee": self.method.guarantee,
            "epsilon": self.epsilon,
            "budget": {},  # the policy's limits are for its own epsilon
        }
        named = {"given": self.given, "ldp_ceiling": self.ldp_ceiling}
        privacy |= {key: value for key, value in named.items() if value is not None}
        if self.method.guarantee != "named":
            privacy |= {"ldp_ceiling": None, "given": None}  # the policy's, for its named promise
        if not self.method.draws_scripts:
            privacy |= {"slots": None, "changes": None}
        if self.every is not None:
            privacy |= {"every": self.every, "listen": None, "slots": self.slots, "changes": self.changes}
        return policy.vary(privacy=privacy, training=self.training)

    def hold(self, policy: Policy) -> Hold:
        """How long a draw is held; methods that promise nothing draw nothing."""
        return self.policy(policy).hold if self.method.epsilon_matters and self.method.family != "peer" else Hold()

    @property
    def training(self) -> dict[str, Any]:
        """What the policy's part on training has to say."""
        minimiser = {"minimiser": self.method.learnt}
        return minimiser if self.features is None else minimiser | {"features": self.features}

    @property
    def shared(self) -> str:
        """What has to be learnt before this setting can be measured, and serves others, too."""
        return self.method.shared if self.features is None else f"{self.method.shared}, {self.features} features"


def longest_hold(settings: Sequence[Setting], policy: Policy) -> Hold:
    """The longest time that a draw of any of them is held."""
    return max((setting.hold(policy) for setting in settings), key=lambda hold: hold.windows)


def grid(methods: Sequence[Method], epsilons: Sequence[float]) -> list[Setting]:
    """Every method at every ε, or once where it promises nothing."""
    if not epsilons:
        raise InputError("epsilon must be positive, and there must be one")
    settings = [
        Setting(method, epsilon if method.epsilon_matters else None) for method in methods for epsilon in epsilons
    ]
    return list(dict.fromkeys(settings))
