"""What can be compared: mechanisms with the guarantee asked of them, in one table; and what varies between releases."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from deeprotect.errors import Argument, InputError
from deeprotect.policy import Policy
from deeprotect.signals import Hold

FEATURES = "features"
"""The default feature extractor without any noise: what minimisation alone does, and no promise."""
ERASED = "erased"
"""What a coder reads behind erased directions, without noise, as the paper draws its mode 2: only to compare."""
SEVERAL_GUARANTEES = ("paper", "channel")
"""Mechanisms that give more than one; their names are told apart by it."""
Family = Literal["mechanism", "reference", "peer"]


@dataclass(frozen=True)
class Method:
    """A mechanism with the guarantee it is asked to give; `feature_extractor` only where it is not the mechanism's own.

    A `peer` is what others do: nothing of ours is learnt for it.
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
        """What stands for the feature extractor in a table."""
        if self.mechanism in ("channel", ERASED):
            return "code book"
        return "none" if self.mechanism == "baseline" or self.peer else self.learnt

    @property
    def shared(self) -> str:
        """What has to be learnt before any ε; methods that share it are measured in one process."""
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
        """Whether it can, where a policy has slots; other methods then hold one draw for the whole episode."""
        return self.mechanism == "channel"

    @property
    def epsilon_matters(self) -> bool:
        return self.guarantee != "none"


def is_ldp(mechanism: str, guarantee: str) -> bool:
    """Whether its ε holds between any two windows; a channel's does, behind erased directions as well."""
    return guarantee == "ldp" or mechanism == "channel"


def line_name(mechanism: str, guarantee: str) -> str:
    """The mechanism, with its guarantee where one mechanism gives two."""
    return f"{mechanism} {guarantee}" if mechanism in SEVERAL_GUARANTEES else mechanism


class Look(NamedTuple):
    colour: str
    marker: str


@dataclass(frozen=True)
class Description:
    """A method in words and in drawings; some mean nothing without a sensitive inference."""

    words: str
    look: Look
    family: Family = "mechanism"
    needs_sensitive: bool = False


_PAPER, _CHANNEL = "the paper's noise on its features", "a random channel between few codes"
_LAPLACE = "certified noise on few features"
# Colours after Okabe and Ito (2008): told apart by colour-blind readers, on light and on dark ground.
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
    Method(FEATURES, "none"): Description("few features and back, without noise", Look("#868e96", "*"), "reference"),
}
ALL_METHODS = tuple(DESCRIPTIONS)
MAIN_METHODS = tuple(method for method, each in DESCRIPTIONS.items() if each.family == "mechanism")
"""Those that curves show; more lines than these cannot be told apart."""
BY_LINE = {method.line: description for method, description in DESCRIPTIONS.items()}
WORDS = {method.mechanism: description.words for method, description in DESCRIPTIONS.items()}


def is_main(line: str) -> bool:
    return line in BY_LINE and BY_LINE[line].family == "mechanism"


def select(names: Sequence[str], policy: Policy) -> tuple[list[Method], list[str]]:
    """Methods by mechanism, or all; and, for each that cannot be, why it is left out."""
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
    """A method at an ε, where it promises one; the others only where they are not the policy's."""

    method: Method
    epsilon: float | None = None
    features: int | None = None
    every: str | None = None
    slots: str | None = None
    changes: int | None = None
    enrolled: bool = False  # tested people have coders of their own, learnt from what the split keeps for that
    own: bool = False  # the policy as it is, made as training makes it

    def __post_init__(self) -> None:
        if self.method.epsilon_matters and not (self.epsilon or 0.0) > 0.0:
            raise InputError("epsilon must be positive, and there must be one")

    @classmethod
    def of(cls, policy: Policy) -> "Setting":
        """The policy's own: its ε, its hold or script, its mechanism or the one that is chosen for it."""
        return cls(Method(policy.privacy.mechanism, policy.privacy.guarantee), policy.privacy.epsilon, own=True)

    def policy(self, policy: Policy) -> Policy:
        if self.own:
            return policy.vary(privacy={"budget": {}})
        privacy: dict[str, Any] = {
            "mechanism": self.method.mechanism,
            "guarantee": self.method.guarantee,
            "epsilon": self.epsilon,
            "budget": {},  # the policy's limits are for its own epsilon
        }
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
        feature_extractor = {"feature_extractor": self.method.learnt}
        return feature_extractor if self.features is None else feature_extractor | {"features": self.features}

    @property
    def shared(self) -> str:
        """What has to be learnt before this setting can be measured, and serves others, too."""
        if self.method.mechanism == "auto":
            return Method("channel", self.method.guarantee).shared  # the channel is always among those it compares
        return self.method.shared if self.features is None else f"{self.method.shared}, {self.features} features"


def check_seed(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise InputError(Argument("seed", seed), " must be a whole number from 0 up, below 2^32")


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
