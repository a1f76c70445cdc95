"""What named promises rest on, inference by inference: for a certificate, and for `verify`."""

from collections.abc import Iterator, Sequence
from typing import Any

from deeprotect.errors import quoted
from deeprotect.privacy.channel.betting import UNIT
from deeprotect.privacy.channel.promises import NamedPromise, Unpromised
from deeprotect.privacy.channel.ratios import Weights, log_up, named_ratio
from deeprotect.privacy.events import Event
from deeprotect.privacy.step import Step

_ASSUMES = (
    "recordings are independent of each other, in calibration and later, those of {cell} alike; one {per} is seen"
)


def neighbours(event: Event) -> str:
    """What is not told apart."""
    if event.guarantee != "named":
        return f"any two {event.per}s"
    alike = "of one useful class and " if event.given else "of "
    return f"{event.per}s {alike}any two classes of an inference that is named, each drawn at random from a recording"


def assumes(event: Event) -> list[str]:
    """What no arithmetic shows."""
    if event.guarantee != "named":
        return []
    cell = "a useful class and a class of a secret together" if event.given else "a class"
    return [_ASSUMES.format(cell=cell, per=event.per), *event.assumes]


def certified(
    event: Event, promises: Sequence[NamedPromise], rest: Sequence[Unpromised], *, epsilons: Sequence[float]
) -> list[dict[str, Any]]:
    """What was derived for each inference, from how many recordings."""
    found = []
    for inference in event.inferences:
        own = [(each, epsilon) for each, epsilon in zip(promises, epsilons, strict=True) if each.inference == inference]
        found.append(
            {
                "inference": inference,
                "epsilon": own[0][0].epsilon,
                "derived_epsilon": max(epsilon for _, epsilon in own),
                "given": [each.given for each, _ in own if each.given],
                "promised": sum(len(each.classes) for each, _ in own),
                "unpromised": sum(len(each.classes) for each in rest if each.inference == inference),
                "recordings": min(each.recordings for each, _ in own),
            }
        )
    return found


def unpromised_lines(event: Event, promises: Sequence[NamedPromise], rest: Sequence[Unpromised]) -> list[str]:
    """One sentence for each inference: how many of its classes only LDP holds for, and what would be needed."""
    return [_unpromised(event, name, promises, rest) for name in dict.fromkeys(each.inference for each in rest)]


def _unpromised(event: Event, name: str, promises: Sequence[NamedPromise], rest: Sequence[Unpromised]) -> str:
    few = [each for each in rest if each.inference == name]
    without, fewest, needed = (
        sum(len(each.classes) for each in few),
        min(each.recordings for each in few),
        few[0].needed,
    )
    every = without + sum(len(each.classes) for each in promises if each.inference == name)
    cells = f"combinations of a useful class and {quoted(name)}" if few[0].given else f"classes of {quoted(name)}"
    open_to = f"{without} of {every} {cells} have no named promise, and ε-LDP holds for them"
    if event.guarantee == "ldp":
        open_to = f"there is no named promise, and the release is LDP instead, for the sake of {without} {cells}"
    why = f"one has {fewest} recordings to calibrate with, and it takes {needed}"
    alone = "there is no other with enough recordings beside one"
    return f"{open_to}: {why if fewest < needed else alone}; record about {2 * needed} of each, of which half calibrate"


def derive(
    event: Event, weights: Weights, promises: Sequence[NamedPromise], *, rest: Sequence[Unpromised]
) -> Iterator[Step]:
    """Every named ε from integers and sets alone."""
    for inference in event.inferences:
        own = [each for each in promises if each.inference == inference]
        epsilon = max(log_up(named_ratio(weights, *each.box)) for each in own)
        widest = max(high - low for each in own for low, high in zip(each.low, each.high, strict=True)) / UNIT
        fewest, stated = min(each.recordings for each in own), own[0].epsilon
        found = (
            f"{quoted(inference)}: {_sizes(own)} of {fewest}+ recordings, intervals up to {widest:.4g} wide, "
            f"all at once with confidence {event.confidence:g}; ε = {epsilon:.9g}, stated {stated:g}; "
            "the sets are taken as given"
        )
        yield Step("ε for an inference", holds=epsilon <= stated, found=found)
    for line in unpromised_lines(event, promises, rest):
        yield Step("without promise", holds=None, found=line)


def _sizes(own: Sequence[NamedPromise]) -> str:
    classes = sum(len(each.classes) for each in own)
    return f"{classes} combinations with {len(own)} useful classes" if own[0].given else f"{classes} classes"
