"""A peer: a way to protect windows that is not ours, its name, its promise, and how it is fitted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deeprotect.errors import PolicyError, TableError
from deeprotect.evaluation.methods import Method
from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import LabelledWindows, Targets

PeerRelease = Callable[[Floats], Floats]
"""Maps private to released windows, both flat (window, time * channel) and scaled to [0, 1]."""
Fit = Callable[[LabelledWindows, Policy, float | None], PeerRelease]
"""Learns from training windows; the number is ε, None where nothing is promised."""


def _always() -> bool:
    return True


@dataclass(frozen=True)
class Peer:
    """`guarantee` is "none" where no ε is promised; what is `seeded` releases the same again for the same seed."""

    name: str
    guarantee: str
    fit: Fit
    installed: Callable[[], bool] = _always
    seeded: bool = True

    @property
    def method(self) -> Method:
        return Method(self.name, self.guarantee, peer=True)


def sensitive(windows: LabelledWindows, policy: Policy, *, peer: str) -> Targets:
    """Labels of what is to be hidden; a peer that hides named inferences cannot do without them."""
    if not policy.inferences.sensitive:
        raise PolicyError(f"{peer} hides named inferences only; add inferences.sensitive to the policy")
    return targets(windows, policy.inferences.sensitive)


def targets(windows: LabelledWindows, inferences: Sequence[str]) -> Targets:
    """Labels of inferences, those left out that know a single class."""
    read = Targets.read(windows.targets(inferences), len(windows))
    if not read.counts:
        names = ", ".join(f"'{name}'" for name in inferences)
        raise TableError(f"the training windows show fewer than two classes of {names}; label more of them")
    return read
