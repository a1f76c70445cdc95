"""What can be compared: mechanisms with the guarantee asked of them, classical features, and peers; in one table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from deeprotect.errors import InputError
from deeprotect.evaluation.peers import PEERS
from deeprotect.policy import Policy

FEATURES = "features"
"""The default minimiser without any noise: what minimisation alone does, and no promise."""
CLASSICAL = ("pca", "dft", "dct", "haar", "bcs")
SEVERAL_GUARANTEES = ("paper", "channel")
"""Mechanisms that give more than one; their names are told apart by it."""
Family = Literal["mechanism", "classical features", "reference", "peer"]


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
    def family(self) -> Family:
        return DESCRIPTIONS[self].family if self in DESCRIPTIONS else "mechanism"

    @property
    def draws_scripts(self) -> bool:
        """Whether it can, where a policy has slots; other methods then hold one draw for the whole episode."""
        return (self.mechanism, self.guarantee) == ("channel", "ldp")

    @property
    def epsilon_matters(self) -> bool:
        return self.guarantee != "none"


def line_name(mechanism: str, guarantee: str, minimiser: str) -> str:
    """The mechanism, with its guarantee where one mechanism gives two, and its features where they are classical."""
    if mechanism in SEVERAL_GUARANTEES:
        return f"{mechanism} {guarantee}"
    return f"{mechanism} {minimiser}" if minimiser in CLASSICAL else mechanism


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
# Colours after Okabe and Ito (2008): told apart by colour-blind readers, on light and on dark ground. Classical
# features in the colour of the noise they get, told apart by marker; peers in muted tones.
DESCRIPTIONS = {
    Method("baseline", "ldp"): Description("noise on every sample", Look("#d55e00", "s")),
    Method("paper", "ldp"): Description(_PAPER, Look("#cc79a7", "^")),
    Method("laplace", "ldp"): Description(_LAPLACE, Look("#0072b2", "o")),
    Method("paper", "rldp"): Description(_PAPER, Look("#e69f00", "v"), needs_sensitive=True),
    Method("subspace", "rldp"): Description(
        "noise along sensitive directions only", Look("#009e73", "D"), needs_sensitive=True
    ),
    Method("channel", "ldp"): Description(_CHANNEL, Look("#56b4e9", "P")),
    Method("channel", "named"): Description(_CHANNEL, Look("#8a63d2", "X"), needs_sensitive=True),
    **{
        Method("laplace", "ldp", minimiser=name): Description(_LAPLACE, Look("#5b8db8", marker), "classical features")
        for name, marker in zip(CLASSICAL, "1234+", strict=True)
    },
    Method(FEATURES, "none"): Description("few features and back, without noise", Look("#868e96", "*"), "reference"),
    Method("downsampling", "none"): Description(
        "fewer samples, then straight lines between them", Look("#7f8c3b", "<"), "peer"
    ),
    Method("leace", "none"): Description(
        "linear erasure of the sensitive labels, in closed form", Look("#b0486b", ">"), "peer", needs_sensitive=True
    ),
    Method("adversarial", "none"): Description(
        "a network trained against an attacker of its own", Look("#3f8f8a", "h"), "peer", needs_sensitive=True
    ),
    Method("opendp", "ldp"): Description(
        "noise on every sample, by OpenDP: an independent check of baseline", Look("#a0522d", "|"), "peer"
    ),
}
ALL_METHODS = tuple(DESCRIPTIONS)
MAIN_METHODS = tuple(method for method, each in DESCRIPTIONS.items() if each.family == "mechanism")
"""Those that curves show; more lines than these cannot be told apart."""
BY_LINE = {method.line: description for method, description in DESCRIPTIONS.items()}
WORDS = {method.mechanism: description.words for method, description in DESCRIPTIONS.items()}


def is_main(line: str) -> bool:
    return line in BY_LINE and BY_LINE[line].family == "mechanism"


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
    if DESCRIPTIONS[method].needs_sensitive and not policy.inferences.sensitive:
        return "the policy names no sensitive inference"
    peer = PEERS.get(method.mechanism)
    if peer is None or (peer.seeded and peer.installed()):
        return None
    if not peer.installed():
        return "not installed"
    return None if asked_for else f"takes no seed, so results would not repeat; ask for it by name ({method.mechanism})"
