"""What can be compared: mechanisms with the guarantee asked of them, classical features, and peers."""

from collections.abc import Sequence
from dataclasses import dataclass

from deeprotect.errors import InputError
from deeprotect.evaluation.peers import PEERS
from deeprotect.evaluation.results import CLASSICAL, line_name
from deeprotect.policy import Policy

FEATURES = "features"
"""The default minimiser without any noise: what minimisation alone does, and no promise."""


@dataclass(frozen=True)
class Method:
    """A mechanism with the guarantee it is asked to give; `minimiser` only where it is not the mechanism's own."""

    mechanism: str
    guarantee: str
    minimiser: str | None = None

    @property
    def learnt(self) -> str:
        """The minimiser that a policy has to name."""
        return self.minimiser or ("paper" if self.mechanism == "paper" else "default")

    @property
    def made_of(self) -> str:
        """What stands for the minimiser in a table."""
        if self.mechanism == "channel":
            return "code book"
        return "none" if self.mechanism == "baseline" or self.mechanism in PEERS else self.learnt

    @property
    def shared(self) -> str:
        """What has to be learnt before any ε; methods that share it are measured in one process."""
        if self.mechanism in PEERS:
            return self.mechanism
        return self.learnt if self.mechanism == FEATURES else self.made_of

    @property
    def line(self) -> str:
        return line_name(self.mechanism, self.guarantee, self.made_of)

    @property
    def epsilon_matters(self) -> bool:
        return self.guarantee != "none"

    @property
    def needs_secrets(self) -> bool:
        """Whether it means nothing without a sensitive inference."""
        return self.guarantee in ("named", "rldp") or self.mechanism in ("leace", "adversarial")


@dataclass(frozen=True)
class Setting:
    """A method at an ε, where it promises one; `features` only where their number is not the policy's."""

    method: Method
    epsilon: float | None = None
    features: int | None = None

    def __post_init__(self) -> None:
        if self.method.epsilon_matters and not (self.epsilon or 0.0) > 0.0:
            raise InputError("epsilon must be positive, and there must be one")

    def policy(self, policy: Policy) -> Policy:
        privacy = {"mechanism": self.method.mechanism, "guarantee": self.method.guarantee, "epsilon": self.epsilon}
        if self.method.guarantee != "named":
            privacy["ldp_ceiling"] = None  # the policy's, for its named promise
        return policy.vary(privacy=privacy, training={"minimiser": self.method.learnt})

    @property
    def shared(self) -> str:
        return self.method.shared if self.features is None else f"{self.method.shared}, {self.features} features"


def grid(methods: Sequence[Method], epsilons: Sequence[float]) -> list[Setting]:
    """Every method at every ε, or once where it promises nothing."""
    if not epsilons:
        raise InputError("epsilon must be positive, and there must be one")
    settings = [
        Setting(method, epsilon if method.epsilon_matters else None) for method in methods for epsilon in epsilons
    ]
    return list(dict.fromkeys(settings))


MAIN_METHODS = (
    Method("baseline", "ldp"),
    Method("paper", "ldp"),
    Method("laplace", "ldp"),
    Method("paper", "rldp"),
    Method("subspace", "rldp"),
    Method("channel", "ldp"),
    Method("channel", "named"),
)
ALL_METHODS = (
    *MAIN_METHODS,
    *(Method("laplace", "ldp", minimiser=name) for name in CLASSICAL),
    Method(FEATURES, "none"),
    *(Method(peer.name, peer.guarantee) for peer in PEERS.values()),
)


def select(names: Sequence[str], policy: Policy) -> tuple[list[Method], list[str]]:
    """Methods by mechanism or by classical features, or all; and, for each that cannot be, why it is left out."""
    known = list(dict.fromkeys(name for method in ALL_METHODS for name in (method.mechanism, method.minimiser) if name))
    for name in names:
        if name not in known:
            raise InputError(f"mechanism '{name}' is unknown; use one of: {', '.join(known)}")
    wanted = [each for each in ALL_METHODS if not names or {each.mechanism, each.minimiser} & set(names)]
    if names and "laplace" in names:  # certified noise on the default features; classical ones go by their own names
        wanted = [each for each in wanted if each.minimiser is None or each.minimiser in names]
    reasons = {each: _reason(each, policy, asked_for=bool(names)) for each in wanted}
    left_out = [f"{each.line}: {reason}" for each, reason in reasons.items() if reason]
    return [each for each, reason in reasons.items() if not reason], left_out


def _reason(method: Method, policy: Policy, *, asked_for: bool) -> str | None:
    if method.needs_secrets and not policy.inferences.sensitive:
        return "the policy names no sensitive inference"
    peer = PEERS.get(method.mechanism)
    if peer is None or (peer.seeded and peer.installed()):
        return None
    if not peer.installed():
        return "not installed"
    return None if asked_for else f"takes no seed, so results would not repeat; ask for it by name ({method.mechanism})"
