"""Events: what one release promises. Events are stored, and totals are always computed from them."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Context
from typing import Any, Literal, get_args

from deeprotect.errors import PolicyError, printable, quoted_all
from deeprotect.privacy.size_limits import check_names

Guarantee = Literal["ldp", "rldp"]
MOST_INFERENCES = 64
PER = ("window", "episode")
_ASSUMES = "the directions are those of the sensitive inferences, as the bundle's maker fitted them"
_UP = Context(prec=6, rounding=ROUND_CEILING)


def shown(epsilon: float) -> str:
    """ε for people: six digits, rounded up."""
    return f"{float(_UP.create_decimal(repr(float(epsilon)))):g}"


@dataclass(frozen=True)
class Event:
    """One draw under a guarantee, for one window, or for an episode of several windows.

    Neighbours are any two for ldp; for rldp, two that differ only along the named inferences' linear directions.
    `erased` names inferences whose directions are erased first: ε is 0 along those, in any number of draws.
    """

    guarantee: Guarantee
    epsilon: float
    per: str = "window"
    inferences: tuple[str, ...] = ()
    delta: float = 0.0
    erased: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.guarantee not in get_args(Guarantee):
            raise PolicyError(f"guarantee '{printable(self.guarantee)}' is unknown; use one of: ldp, rldp")
        if self.per not in PER:
            raise PolicyError(f"an epsilon per '{printable(self.per)}' is unknown; use one of: {', '.join(PER)}")
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise PolicyError(f"epsilon = {self.epsilon} must be a positive finite number")
        if not 0 <= self.delta < 1:
            raise PolicyError("delta must be in [0, 1)")
        if max(len(self.inferences), len(self.erased)) > MOST_INFERENCES:
            raise PolicyError(f"an event names {len(self.inferences)} inferences; name at most {MOST_INFERENCES}")
        check_names((*self.inferences, *self.erased), "the name of an inference")

    @property
    def policy_guarantee(self) -> Guarantee:
        """What a policy calls it."""
        return "rldp" if self.erased else self.guarantee

    @property
    def assumes(self) -> tuple[str, ...]:
        """What no number in a bundle can prove; listed under `assumes` in certificates."""
        return (_ASSUMES,) if self.erased else ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"inferences": list(self.inferences), "erased": list(self.erased)}

    def certificate(
        self,
        *,
        mechanism: str,
        method: str,
        derived_epsilon: float,
        ldp_epsilon: float | None,
        neighbours: str | None = None,
        sensitivity: float | None = None,
        exact: bool = True,
        assumes: Sequence[str] = (),
        **more: Any,
    ) -> dict[str, Any]:
        """The certificate of a mechanism's promise; without `neighbours`, any two are neighbours."""
        facts = {
            "mechanism": mechanism,
            "neighbours": neighbours or f"any two {self.per}s",
            "derived_epsilon": derived_epsilon,
            "ldp_epsilon": ldp_epsilon,
            "sensitivity": sensitivity,
            "exact": exact,
            "method": method,
            "assumes": list(dict.fromkeys([*self.assumes, *assumes])),
        }
        return self.to_json() | facts | more

    def __str__(self) -> str:
        against = f" for {quoted_all(self.inferences, ', ')}" if self.inferences else ""
        promise = f"ε = {shown(self.epsilon)} {self.guarantee} per {self.per}{against}"
        if not self.erased:
            return promise
        return f"{promise}; ε = 0 along the directions of {quoted_all(self.erased, ', ')}, in any number of draws"


@dataclass(frozen=True)
class Step:
    """A step of a derivation: what was derived again, whether it holds, and the numbers.

    `holds` is None if nothing could or had to be checked; `needed`: the promise depends on it.
    """

    name: str
    holds: bool | None
    found: str
    needed: bool = False

    @property
    def breaks(self) -> bool:
        return self.holds is False or (self.holds is None and self.needed)

    def __str__(self) -> str:
        sign = {True: "ok", False: "FAILS", None: "open" if self.needed else "-"}[self.holds]
        return f"{sign:6}{self.name:20}{self.found}"
