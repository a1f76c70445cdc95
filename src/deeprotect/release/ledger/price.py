"""What one draw of a bundle is counted as, exactly. docs/claims.md#the-ledger"""

import json
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

from deeprotect.bundle import Bundle
from deeprotect.errors import quoted_all
from deeprotect.privacy.events import Event, Guarantee
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.release.ledger.limits import Limits, exact

DECIMALS = 9  # of an epsilon that nobody stated but that was worked out


@dataclass(frozen=True)
class Price:
    """ε of one draw, the guarantee under which such draws add up, and the limits that the policy sets.

    Counted is the strongest bound that adds up over draws: LDP where there is one, whatever the event is about. A named
    promise without it bounds nothing beyond one draw: its ε is then added up all the same, as a count and not a bound.
    """

    event: Event
    epsilon: Fraction
    counted_as: Guarantee
    bundle: str = ""  # digest
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def of(cls, mechanism: Mechanism, *, bundle: str = "", limits: Limits | None = None) -> Self:
        """The price of a mechanism's draws."""
        event, bound = mechanism.event, _ldp_bound(mechanism)
        epsilon, kind = (exact(event.epsilon), event.guarantee) if bound is None else (bound, "ldp")
        return cls(event, epsilon, kind, bundle, limits or Limits())

    @classmethod
    def of_bundle(cls, bundle: Bundle) -> Self:
        """Of one draw, within the policy's limits."""
        return cls.of(bundle.mechanism, bundle=bundle.digest, limits=Limits.of(bundle.policy.privacy.budget))

    @property
    def counted(self) -> str:
        """What is added up, in words: ldp is about everything, other promises about the inferences that they name."""
        return "ldp" if self.counted_as == "ldp" else f"{self.counted_as} for {quoted_all(self.event.inferences, ', ')}"

    def to_json(self) -> str:
        """One text for one price: the ledger stores each once."""
        body = {
            "bundle": self.bundle,
            "event": self.event.to_json(),
            "epsilon": str(self.epsilon),
            "counted_as": self.counted_as,
            "limits": self.limits.to_json(),
        }
        return json.dumps(body, sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        body: dict[str, Any] = json.loads(text)
        event = Event(**body["event"] | {"inferences": tuple(body["event"]["inferences"])})
        limits = Limits.from_json(body["limits"])
        return cls(event, Fraction(body["epsilon"]), body["counted_as"], body["bundle"], limits)


def _ldp_bound(mechanism: Mechanism) -> Fraction | None:
    """ε-LDP of one draw: stated, or worked out from the mechanism's numbers and rounded up; None where none holds."""
    if mechanism.event.guarantee == "ldp":
        return exact(mechanism.event.epsilon)
    certificate = mechanism.certificate()
    if certificate.get("ldp_ceiling") is not None:
        return exact(certificate["ldp_ceiling"])
    derived: float | None = certificate["ldp_epsilon"]
    return None if derived is None else Fraction(math.ceil(Fraction(derived) * 10**DECIMALS), 10**DECIMALS)
