"""How much anyone reads of a release beyond the useful label, in words. Cards, `train`, `verify` and pages print them.

docs/claims.md#what-leaves-beyond-the-useful-label
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from deeprotect.bundle.bundle import Bundle
from deeprotect.errors import quoted, quoted_all
from deeprotect.privacy.channel.beyond import at_most, needed
from deeprotect.privacy.guarantees import span

MINUTE = 60
_UNKNOWN = "How much else can be read was not counted: "


class Excess(NamedTuple):
    """How much more often anyone is right than by guessing: an estimate, and an upper bound if one is claimed."""

    mean: float
    end: float | None

    @property
    def words(self) -> str:
        """`at most 9 percentage points`, or `about 4 …` without a bound; rounded up."""
        return f"about {points(self.mean)}" if self.end is None else f"at most {points(self.end)}"


def points(share: float) -> str:
    """A difference of two shares in whole percentage points, rounded up."""
    whole = math.ceil(100 * share - 1e-9)
    return f"{whole} percentage point{'' if whole == 1 else 's'}"


def excess(bundle: Bundle, length: str = "draw") -> Excess | None:
    """The excess for one draw, a minute or a whole recording; None if it was not counted."""
    found = (bundle.certificate["beyond"] or {}).get(length)
    return None if found is None else Excess(found["mean"], found["at_most"])


def sentence(bundle: Bundle) -> str:
    """A sentence that a data-protection officer can repeat."""
    found, useful = excess(bundle), quoted_all(bundle.policy.inferences.useful)
    if found is None:
        return f"{_UNKNOWN}{_why_not(bundle)}."
    who = f"Beyond {useful} itself, anyone who sees {_one(bundle)} is right about anything else"
    if found.end is None:
        return f"{who} more often than by guessing by {found.words}{_surely(bundle, found)}"
    return f"{who} {found.words} more often than by guessing{_surely(bundle, found)}"


def readings(bundle: Bundle) -> Iterator[str]:
    """Yields what is read of each sensitive inference, then of anything else: by guessing, at most, and as measured."""
    found, kept = excess(bundle), bundle.manifest.kept
    for result in bundle.manifest.results:
        for name, numbers in result.sensitive.items():
            yield f"{quoted(name)} (sensitive), accuracy: {', '.join(_facts(found, bundle, name, numbers))}"
    if found is None or kept is None:
        yield sentence(bundle)
        return
    counted = bundle.certificate["beyond"]
    yield f"Anything else: {found.words} more often than by guessing from {_useful(bundle)}{_estimated(found)}"
    yield (
        f"Counted on {counted['kept']} {counted['of']} that were kept aside from training: the coder misreads "
        f"{_share(counted)} of draws. The bound is about their average: a misread draw may tell everything, which is "
        "what ε limits."
    )
    labelled = excess(bundle, "labelled")
    if labelled is not None:
        yield (
            f"Draws for which the table has no {_useful(bundle)} count as misread. Of the others alone, anything else: "
            f"{labelled.words} more often{_estimated(labelled)}"
        )
    if counted["any_mix"] is not None and found.end is not None:
        yield f"In any mix of {_useful(bundle)}: at most {points(counted['any_mix'])} more often, from one draw."


def _facts(found: Excess | None, bundle: Bundle, name: str, numbers: Any) -> Iterator[str]:
    kept = bundle.manifest.kept
    guess = numbers.get("chance", 0.0)
    yield f"guessing the most common class {guess:.3f}"
    blind = None if kept is None else kept.blind.get(name, {}).get("draw")
    if blind is not None:
        yield f"guessing from {_useful(bundle)} alone {blind:.3f}"
        guess = max(guess, blind)
    if found is not None and found.end is not None:
        yield f"at most {at_most(guess, found.end):.3f} (by the estimate {at_most(guess, found.mean):.3f})"
    elif found is not None:
        yield f"by the estimate at most {at_most(guess, found.mean):.3f}"
    for key, reader in (("adaptive", "attacker retrained on released windows"), ("raw", "attacker on raw windows")):
        if key in numbers:
            yield f"{reader} {numbers[key]:.3f}"
    if {"recording", "recording_raw"} <= numbers.keys():
        yield (
            f"attacker with all held-out windows of a recording {numbers['recording']:.3f} released, "
            f"{numbers['recording_raw']:.3f} raw"
        )


def of_longer(bundle: Bundle) -> Iterator[str]:
    """Yields the excess for a minute and for a whole recording."""
    for length, words in (("minute", "A released minute"), ("recording", "A whole released recording")):
        found = excess(bundle, length)
        if found is not None:
            yield f"{words}: anything else {found.words} more often than by guessing from {_useful(bundle)}."


def assumed(bundle: Bundle) -> str:
    """For verdicts: the bound for one draw, with what no arithmetic can check; empty if there is no bound."""
    found, counted = excess(bundle), bundle.certificate["beyond"]
    if found is None or found.end is None:
        return ""
    per = bundle.mechanism.event.per if bundle.mechanism.scripts is None else "slot"
    return (
        f"beyond {_useful(bundle)} one {per} tells of anything else {found.words}, with {_confidence(counted)} "
        f"confidence, assuming that {'; that '.join(counted['assumes'])}"
    )


def _useful(bundle: Bundle) -> str:
    return quoted_all(bundle.policy.inferences.useful)


def _one(bundle: Bundle) -> str:
    """How long one draw, or one slot of a script, lasts, in words."""
    policy = bundle.policy
    seconds = float((policy.slot_windows or policy.hold.windows) * policy.stream.window_seconds)
    return "one released second" if seconds == 1 else f"{span(seconds)} of a release"


def _surely(bundle: Bundle, found: Excess) -> str:
    counted = bundle.certificate["beyond"]
    if found.end is None:
        return (
            f": an estimate from {counted['kept']} {counted['of']} kept aside. No bound is claimed, because that takes "
            f"{needed()} of them."
        )
    return f", with {_confidence(counted)} confidence{_estimated(found)}"


def _estimated(found: Excess) -> str:
    return "." if found.end is None else f" (the estimate is {points(found.mean)})."


def _confidence(counted: Any) -> str:
    return f"{100 * counted['confidence']:g} %"


def _share(counted: Any) -> str:
    """The share of misread draws: one draw's excess divided by τ."""
    return f"{counted['draw']['mean'] / counted['tau']:.3f}" if counted["tau"] else "an unknown share"


def _why_not(bundle: Bundle) -> str:
    if bundle.manifest.feature_extractor.enrolled_windows:
        return "this coder has learnt one person since then"
    if bundle.mechanism.name != "channel":
        return "noise on features has no codes to count"
    return "there were too few recordings to keep some of them aside"
