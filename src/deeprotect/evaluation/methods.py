"""Methods to compare: mechanisms with their guarantees, in one table; and the settings of a release."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from deeprotect.errors import Argument, InputError
from deeprotect.policy import Policy
from deeprotect.signals import Hold

FEATURES = "features"
"""The default feature extractor without noise: the effect of minimisation alone, without any promise."""
ERASED = "erased"
"""The coder's classes after erasing directions, without noise, as the paper draws its mode 2; for comparison only."""
SEVERAL_GUARANTEES = ("paper", "channel")
"""Mechanisms that offer several guarantees; their lines are named by both."""
Family = Literal["mechanism", "reference", "peer"]


@dataclass(frozen=True)
class Method:
    """A mechanism with the requested guarantee; `feature_extractor` only if it is not the mechanism's default.

    A `peer` is a method by others: nothing of ours is trained for it.
    """

    mechanism: str
    guarantee: str
    feature_extractor: str | None = None
    peer: bool = False

    @property
    def learnt(self) -> str:
        """The feature extractor that a policy has to name."""
        return self.feature_extractor or ("paper" if self.mechanism == "paper" else "default")

    @property
    def made_of(self) -> str:
        """The name of the feature extractor in a table."""
        if self.mechanism in ("channel", ERASED):
            return "code book"
        return "none" if self.mechanism == "baseline" or self.peer else self.learnt

    @property
    def shared(self) -> str:
        """Identifies the training before any ε; methods that share it are measured in one process."""
        if self.peer:
            return self.mechanism
        if self.mechanism == ERASED or (self.mechanism, self.guarantee) == ("channel", "rldp"):
            return "code book, directions erased"
        return self.learnt if self.mechanism == FEATURES else self.made_of

    @property
    def line(self) -> str:
        return line_name(self.mechanism, self.guarantee)

    @property
    def family(self) -> Family:
        if self.peer:
            return "peer"
        return DESCRIPTIONS[self].family if self in DESCRIPTIONS else "mechanism"

    @property
    def draws_scripts(self) -> bool:
        """Whether the method releases scripts if a policy has slots; others hold one draw for the whole episode."""
        return self.mechanism == "channel"

    @property
    def epsilon_matters(self) -> bool:
        return self.guarantee != "none"


def is_ldp(mechanism: str, guarantee: str) -> bool:
    """Whether its ε holds between any two windows, as a channel's does even after erasing directions."""
    return guarantee == "ldp" or mechanism == "channel"


def line_name(mechanism: str, guarantee: str) -> str:
    """The mechanism's name, with the guarantee if it offers two."""
    return f"{mechanism} {guarantee}" if mechanism in SEVERAL_GUARANTEES else mechanism


class Look(NamedTuple):
    colour: str
    marker: str


@dataclass(frozen=True)
class Description:
    """A method in words and in figures; some need a sensitive inference."""

    words: str
    look: Look
    family: Family = "mechanism"
    needs_sensitive: bool = False


_PAPER, _CHANNEL = "the paper's noise on its features", "a random channel between a few codes"
_LAPLACE = "certified noise on a few features"
# Colours after Okabe and Ito (2008): distinguishable for colour-blind readers, on light and dark backgrounds.
DESCRIPTIONS = {
    Method("baseline", "ldp"): Description("noise on every sample", Look("#d55e00", "s")),
    Method("paper", "ldp"): Description(_PAPER, Look("#cc79a7", "^")),
    Method("laplace", "ldp"): Description(_LAPLACE, Look("#0072b2", "o")),
    Method("paper", "rldp"): Description(_PAPER, Look("#e69f00", "v"), needs_sensitive=True),
    Method("channel", "ldp"): Description(_CHANNEL, Look("#56b4e9", "P")),
    Method("channel", "rldp"): Description(_CHANNEL, Look("#009e73", "D"), needs_sensitive=True),
    Method(ERASED, "none"): Description(
        "sensitive directions erased, without noise", Look("#009e73", "h"), "reference", needs_sensitive=True
    ),
    Method(FEATURES, "none"): Description("a few features, without noise", Look("#868e96", "*"), "reference"),
}
ALL_METHODS = tuple(DESCRIPTIONS)
MAIN_METHODS = tuple(method for method, each in DESCRIPTIONS.items() if each.family == "mechanism")
"""Methods that curves show; more lines could not be told apart."""
BY_LINE = {method.line: description for method, description in DESCRIPTIONS.items()}
WORDS = {method.mechanism: description.words for method, description in DESCRIPTIONS.items()}


def is_main(line: str) -> bool:
    return line in BY_LINE and BY_LINE[line].family == "mechanism"


def select(names: Sequence[str], policy: Policy) -> tuple[list[Method], list[str]]:
    """Methods of the named mechanisms, or all; and, for each that is not possible, why it is left out."""
    known = list(dict.fromkeys(method.mechanism for method in ALL_METHODS))
    for name in names:
        if name not in known:
            raise InputError(f"mechanism '{name}' is unknown; use one of: {', '.join(known)}")
    wanted = [each for each in ALL_METHODS if not names or each.mechanism in names]
    possible = [each for each in wanted if policy.inferences.sensitive or not DESCRIPTIONS[each].needs_sensitive]
    left_out = [f"{each.line}: the policy names no sensitive inference" for each in wanted if each not in possible]
    return possible, left_out


@dataclass(frozen=True)
class Setting:
    """A method at an ε, if it promises one; other fields only if they differ from the policy's."""

    method: Method
    epsilon: float | None = None
    features: int | None = None
    every: str | None = None
    slots: str | None = None
    changes: int | None = None
    enrolled: bool = False  # tested people have coders of their own, from enrolment windows
    own: bool = False  # the policy itself, built as in training

    def __post_init__(self) -> None:
        if self.method.epsilon_matters and not (self.epsilon or 0.0) > 0.0:
            raise InputError("give at least one epsilon; each must be positive")

    @classmethod
    def of(cls, policy: Policy) -> "Setting":
        """The policy's own setting: its ε, its hold or script, its mechanism or the one chosen for it."""
        return cls(Method(policy.privacy.mechanism, policy.privacy.guarantee), policy.privacy.epsilon, own=True)

    def policy(self, policy: Policy) -> Policy:
        if self.own:
            return policy.vary(privacy={"budget": {}})
        privacy: dict[str, Any] = {
            "mechanism": self.method.mechanism,
            "guarantee": self.method.guarantee,
            "epsilon": self.epsilon,
            "budget": {},  # the policy's limits apply to its own epsilon
        }
        if not self.method.draws_scripts:
            privacy |= {"slots": None, "changes": None}
        if self.every is not None:
            privacy |= {"every": self.every, "listen": None, "slots": self.slots, "changes": self.changes}
        return policy.vary(privacy=privacy, training=self.training)

    def hold(self, policy: Policy) -> Hold:
        """How long a draw is held; methods without a promise make no draws."""
        return self.policy(policy).hold if self.method.epsilon_matters and self.method.family != "peer" else Hold()

    @property
    def training(self) -> dict[str, Any]:
        """The training keys to change in the policy."""
        feature_extractor = {"feature_extractor": self.method.learnt}
        return feature_extractor if self.features is None else feature_extractor | {"features": self.features}

    @property
    def shared(self) -> str:
        """Identifies the training needed before this setting can be measured, which other settings may share."""
        if self.method.mechanism == "auto":
            return Method("channel", self.method.guarantee).shared  # the channel is always among those it compares
        return self.method.shared if self.features is None else f"{self.method.shared}, {self.features} features"


def check_seed(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise InputError(Argument("seed", seed), " must be a whole number from 0 up, below 2^32")


def longest_hold(settings: Sequence[Setting], policy: Policy) -> Hold:
    """The longest hold among the settings."""
    return max((setting.hold(policy) for setting in settings), key=lambda hold: hold.windows)


def grid(methods: Sequence[Method], epsilons: Sequence[float]) -> list[Setting]:
    """Every method at every ε, or once if it promises nothing."""
    if not epsilons:
        raise InputError("give at least one epsilon; each must be positive")
    settings = [
        Setting(method, epsilon if method.epsilon_matters else None) for method in methods for epsilon in epsilons
    ]
    return list(dict.fromkeys(settings))
