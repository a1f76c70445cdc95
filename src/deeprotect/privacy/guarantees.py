"""Guarantees in words: what is promised, against whom, for how much data, and where it ends.

A card opens with two sentences of its own, for people who read no further: `bundle/card_opening.py`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from deeprotect.errors import quoted_all

PLAIN = {
    "ldp": "any two windows",
    "named": "named inferences",
    "rldp": "linear directions only",
    "none": "no promise",
}
STRONGEST_FIRST = tuple(PLAIN)


@dataclass(frozen=True)
class Terms:
    """What a guarantee is and is not: whom it holds against, for how much data, and where it ends."""

    against: str
    covers: str
    not_covered: str


def promise(
    guarantee: str,
    epsilon: float | None = None,
    *,
    sensitive: Sequence[str] = (),
    given: Sequence[str] = (),
    per: str = "window",
) -> str:
    """One sentence, for one ε or for any; `sensitive` are the inferences that the guarantee names, `given` those that
    it takes for known, and `per` is what one draw is for."""
    hidden = _hidden(sensitive)
    factor = "e^ε" if epsilon is None else _factor(epsilon)
    if guarantee == "ldp":
        return (
            f"No observer, however clever, can tell any two {per}s apart by more than a factor {factor}; "
            f"this is per {per}, and T {per}s of one person cost T times that ε."
        )
    if guarantee == "named" and given:
        return (
            f"Beyond {quoted_all(given)}, one {per} tells no observer classes of {hidden} apart by more than a "
            f"factor {factor}, with the stated confidence; who does what how often, other inferences and several "
            f"{per}s together are not bound."
        )
    if guarantee == "named":
        return (
            f"No observer of one {per} can tell classes of {hidden} apart by more than a factor {factor}, "
            f"with the stated confidence; other inferences and several {per}s together are not bound."
        )
    if guarantee == "none":
        return "Nothing is promised: what attackers reach is only measured, and a better one may reach more."
    return (
        f"Hides only the straight-line directions that a linear classifier of {hidden} uses; a nonlinear attacker "
        "is not bound, so read the measured attacker and not the ε."
    )


def terms(guarantee: str, *, sensitive: Sequence[str] = (), given: Sequence[str] = (), per: str = "window") -> Terms:
    """The small print of a guarantee, in large print."""
    hidden = _hidden(sensitive)
    if guarantee == "ldp":
        return Terms(
            against="Anyone: any model, any computing power, any side knowledge, the protector's own files included.",
            covers=f"One {per}. They add up: T of them cost T·ε, and each app has draws of its own."
            + (" A stretch as long as an episode that begins elsewhere meets two: 2ε." if per == "episode" else ""),
            not_covered="What stands beside the samples: time stamps, row counts, names of recordings that are kept; "
            "and at a large ε the factor allows much, so read what was measured beside it.",
        )
    if guarantee == "named" and given:
        known = quoted_all(given)
        return Terms(
            against=f"Anyone who knows {known} and wants to learn {hidden} from one {per}, with whatever model.",
            covers=f"One {per}, drawn at random from the next recording, of any class of {known} done as in "
            "calibration, however often each is done, with the stated confidence over recordings.",
            not_covered=f"What {known} alone tells, such as who does what how often; inferences that are not named; "
            f"several {per}s together; combinations with too few recordings; draws during "
            f"which {known} changes; people or sensors unlike the calibration data.",
        )
    if guarantee == "named":
        return Terms(
            against=f"Anyone who wants to learn {hidden} from one {per}, with whatever model.",
            covers=f"One {per}, drawn at random from the next recording, which is like those the protector was "
            "calibrated on, with the stated confidence over recordings.",
            not_covered=f"Inferences that are not named; several {per}s together; an observer who already knows more "
            f"about the {per} or its recording; classes with too few recordings; people or sensors unlike the "
            "calibration data.",
        )
    if guarantee == "none":
        return Terms(
            against="Nobody.",
            covers="Nothing. Such rows show what formal promises cost.",
            not_covered="Everything: an attacker nobody has thought of yet may read all that raw windows tell.",
        )
    return Terms(
        against=f"Linear classifiers of {hidden}.",
        covers="One window, along the directions those classifiers use.",
        not_covered="Every other attacker: forests, networks, and anyone who pools windows.",
    )


def _hidden(sensitive: Sequence[str]) -> str:
    return quoted_all(sensitive) or "the sensitive inferences"


def _factor(epsilon: float) -> str:
    """With its value while a reader can make something of it."""
    return f"e^{epsilon:g} ≈ {math.exp(epsilon):,.3g}" if epsilon < 7 else f"e^{epsilon:g}"
