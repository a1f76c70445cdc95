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
class Option:
    """A mechanism with the guarantee it is asked to give; `minimiser` only where it is not the mechanism's own."""

    mechanism: str
    guarantee: str
    minimiser: str | None = None

    def policy(self, policy: Policy, epsilon: float) -> Policy:
        privacy = {"mechanism": self.mechanism, "guarantee": self.guarantee, "epsilon": epsilon}
        if self.guarantee != "named":
            privacy["ldp_ceiling"] = None  # the policy's, for its named promise
        return policy.vary(privacy=privacy, training={"minimiser": self.learnt})

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
    def line(self) -> str:
        return line_name(self.mechanism, self.guarantee, self.made_of)

    @property
    def epsilon_matters(self) -> bool:
        return self.guarantee != "none"

    def at(self, epsilons: Sequence[float]) -> Sequence[float]:
        """The ε to measure it at: one stands for all where it does not matter."""
        return epsilons if self.epsilon_matters else epsilons[:1]

    @property
    def needs_secrets(self) -> bool:
        """Whether it means nothing without a sensitive inference."""
        return self.guarantee in ("named", "rldp") or self.mechanism in ("leace", "adversarial")


OPTIONS = (
    Option("baseline", "ldp"),
    Option("paper", "ldp"),
    Option("laplace", "ldp"),
    Option("paper", "rldp"),
    Option("subspace", "rldp"),
    Option("channel", "ldp"),
    Option("channel", "named"),
)
EVERY = (
    *OPTIONS,
    *(Option("laplace", "ldp", minimiser=name) for name in CLASSICAL),
    Option(FEATURES, "none"),
    *(Option(peer.name, peer.guarantee) for peer in PEERS.values()),
)


def chosen(names: Sequence[str], policy: Policy) -> tuple[list[Option], list[str]]:
    """Options by mechanism or by classical features, or all; and, for each that cannot be, why it is left out."""
    known = list(dict.fromkeys(name for option in EVERY for name in (option.mechanism, option.minimiser) if name))
    for name in names:
        if name not in known:
            raise InputError(f"mechanism '{name}' is unknown; use one of: {', '.join(known)}")
    wanted = [each for each in EVERY if not names or {each.mechanism, each.minimiser} & set(names)]
    if names and "laplace" in names:  # certified noise on the default features; classical ones go by their own names
        wanted = [each for each in wanted if each.minimiser is None or each.minimiser in names]
    reasons = {each: _reason(each, policy, asked_for=bool(names)) for each in wanted}
    left_out = [f"{each.line}: {reason}" for each, reason in reasons.items() if reason]
    return [each for each, reason in reasons.items() if not reason], left_out


def _reason(option: Option, policy: Policy, *, asked_for: bool) -> str | None:
    if option.needs_secrets and not policy.inferences.sensitive:
        return "the policy names no sensitive inference"
    peer = PEERS.get(option.mechanism)
    if peer is None or (peer.seeded and peer.installed()):
        return None
    if not peer.installed():
        return "not installed"
    return None if asked_for else f"takes no seed, so results would not repeat; ask for it by name ({option.mechanism})"
