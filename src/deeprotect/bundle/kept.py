"""Counts on recordings kept aside, and what follows from them: how much anyone reads beyond the useful label.

docs/claims.md#what-leaves-beyond-the-useful-label
"""

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from deeprotect.errors import BundleError
from deeprotect.privacy.channel.beyond import CONFIDENCE, STEPS, Excess, apart, excesses, needed
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.privacy.sampling import float_up
from deeprotect.privacy.size_limits import MOST_CODES

MOST_KEPT, MOST_SECRETS = 1 << 20, 64
Length = Literal["draw", "labelled", "minute", "recording"]
Share = Annotated[float, Field(ge=0, le=1)]
Counts = Annotated[list[Annotated[int, Field(ge=0, lt=MOST_KEPT)]], Field(min_length=STEPS + 1, max_length=STEPS + 1)]
ASSUMES = (
    "the counts are of whole recordings that no choice of training saw, as the bundle's maker says",
    "recordings are independent of each other, and the next ones are like these",
)


class Kept(BaseModel):
    """Histograms of the mean excess over recordings, or people, that training kept aside.

    `counts` are histograms for stretches of `slots` slots (0: whole recordings). "labelled" are single draws with a
    useful label, if others have none and count as misread. `classes` are single draws of each useful class that enough
    recordings have. `blind` is the accuracy of guessing a sensitive inference from true useful labels alone.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)
    of: Literal["recordings", "people"]
    slots: dict[Length, Annotated[int, Field(ge=0, lt=1 << 32)]]
    counts: dict[Length, Counts]
    classes: Annotated[list[Counts], Field(max_length=MOST_CODES)]
    blind: Annotated[dict[str, dict[Length, Share]], Field(max_length=MOST_SECRETS)]

    def derived(self, mechanism: Mechanism) -> dict[str, Any]:
        """The entries of the certificate, derived again whenever a bundle is loaded."""
        tau = apart(mechanism)
        if tau is None:
            raise BundleError("recordings were counted for a mechanism without codes; train again")
        if not {"draw", "recording"} <= self.counts.keys() == self.slots.keys():
            raise BundleError("the recordings kept aside are not counted for one draw and for whole ones; train again")
        found = {length: Excess(tuple(counts)) for length, counts in self.counts.items()}
        kept = {each.recordings for length, each in found.items() if length != "labelled"}
        if "labelled" in found and not 1 <= found["labelled"].recordings <= max(kept):
            raise BundleError("more recordings have labelled draws than were kept aside, or none; train again")
        if len(kept) != 1 or not 1 <= min(kept) <= MOST_KEPT:
            raise BundleError("the recordings kept aside are not as many for each length, or too many; train again")
        for length, each in found.items():
            self._check_possible(each, tau, slots=self.slots[length])
        classes = [Excess(tuple(counts)) for counts in self.classes]
        if any(each.recordings < needed() for each in classes):
            raise BundleError("a useful class is counted on too few recordings to be anyone's; train again")
        return {
            "of": self.of,
            "kept": kept.pop(),
            "tau": float_up(tau),
            "confidence": CONFIDENCE,
            **{length: _numbers(each) for length, each in found.items()},
            "any_mix": self._of_any_mix(classes, mechanism),
            "assumes": list(ASSUMES),
        }

    def _check_possible(self, found: Excess, tau: Fraction, *, slots: int) -> None:
        """Refuse means larger than if all draws were misread: such counts belong to another mechanism."""
        if slots:
            highest = Excess.of([Fraction(int(excesses(tau, min(slots, 1 << 12))[-1]), 1 << 30)] * needed())
            if any(found.counts[highest.counts.index(needed()) + 1 :]):
                raise BundleError("the recordings kept aside were counted for another mechanism; train again")

    def _of_any_mix(self, classes: list[Excess], mechanism: Mechanism) -> float | None:
        """The bound for one draw in any mix of useful classes; None if some class has too few recordings."""
        ends = [each.end for each in classes if each.end is not None]
        codes = len(getattr(mechanism, "outputs", ()))
        return float(max(ends)) if ends and len(ends) >= codes else None


def _numbers(found: Excess) -> dict[str, Any]:
    """The estimate, its interval and its upper end."""
    end = found.end
    return {
        "mean": float(found.mean),
        "ci": None if found.interval is None else list(found.interval),
        "at_most": None if end is None else float(end),
    }
