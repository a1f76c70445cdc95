"""What named promises rest on, inference by inference: for a certificate, and for `verify`."""

from collections.abc import Iterator, Sequence
from typing import Any

from deeprotect.errors import quoted
from deeprotect.privacy.channel.calibration import (
    FEWEST_GIVEN,
    UNIT,
    SensitiveCounts,
    confidence_of_each,
    tables_by_inference,
)
from deeprotect.privacy.channel.combinations import Combination
from deeprotect.privacy.channel.ratios import Weights, integer_sets, log_up, named_ratio
from deeprotect.privacy.events import Event
from deeprotect.privacy.step import Step

_ASSUMES = "calibration {per}s are independent draws, in each class from what is released later; one {per} is seen"
_ASSUMES_GIVEN = (
    "calibration {per}s are independent draws, for each useful class and class of a secret together from what is "
    "released later; one {per} is seen"
)
SHOWN = 5
"""Combinations without a promise that a line names."""


def neighbours(event: Event) -> str:
    """What is not told apart."""
    if event.guarantee != "named":
        return f"any two {event.per}s"
    alike = "of one useful class and " if event.given else "of "
    return f"{event.per}s {alike}any two classes of an inference that is named, each drawn as in calibration"


def assumes(event: Event) -> list[str]:
    """What no arithmetic shows."""
    if event.guarantee != "named":
        return []
    return [(_ASSUMES_GIVEN if event.given else _ASSUMES).format(per=event.per), *event.assumes]


def certified(
    event: Event, secrets: Sequence[SensitiveCounts], left_out: Sequence[Combination], *, epsilons: Sequence[float]
) -> list[dict[str, Any]]:
    """What was derived for each inference, from how much, with which confidence for all its classes together."""
    places = tables_by_inference(secrets)
    each = confidence_of_each(event.confidence, len(places))
    found = []
    for inference, numbers in places.items():
        tables = [secrets[number] for number in numbers]
        windows = [int(count) for table in tables for count in table.windows]
        body = {
            "inference": inference,
            "epsilon": tables[0].epsilon,
            "derived_epsilon": max(epsilons[number] for number in numbers),
            "classes": len({name for table in tables for name in table.classes}),
            "windows_per_class": [min(windows), max(windows)],
            "confidence": each,
        }
        found.append(body | _given(tables, left_out))
    return found


def _given(tables: Sequence[SensitiveCounts], left_out: Sequence[Combination]) -> dict[str, Any]:
    """Which useful classes the promise is given, and what it leaves out; windows are then those of combinations."""
    if not tables[0].given:
        return {}
    rest = [each for each in left_out if each.inference == tables[0].inference]
    return {
        "given": [table.given for table in tables],
        "combinations": sum(len(table.classes) for table in tables),
        "without_promise": [[each.given, each.sensitive, each.windows] for each in rest],
    }


def derive(
    event: Event, weights: Weights, secrets: Sequence[SensitiveCounts], *, left_out: Sequence[Combination]
) -> Iterator[Step]:
    """Every named ε from integers and counts alone."""
    ends = integer_sets(secrets, confidence=event.confidence)
    for inference, numbers in tables_by_inference(secrets).items():
        tables = [secrets[number] for number in numbers]
        epsilon = max(log_up(named_ratio(weights, *ends[number])) for number in numbers)
        widest = max(int((high - low).max()) for low, high in (ends[number] for number in numbers)) / UNIT
        fewest, stated = min(int(table.windows.min()) for table in tables), tables[0].epsilon
        found = (
            f"{quoted(inference)}: {_sizes(tables)} of {fewest}+ {event.per}s, intervals up to {widest:.4g} wide, "
            f"all at once with confidence {event.confidence:g}; ε = {epsilon:.9g}, stated {stated:g}; "
            "the counts are taken as given"
        )
        yield Step("ε for an inference", holds=epsilon <= stated, found=found)
        rest = [each for each in left_out if each.inference == inference]
        if rest:
            yield Step("without promise", holds=None, found=listed(list(map(str, rest))))


def listed(combinations: Sequence[str]) -> str:
    """How many combinations are promised nothing, and some of them."""
    more = f" and {len(combinations) - SHOWN} more in the certificate" if len(combinations) > SHOWN else ""
    few = f"{len(combinations)} combinations, seen fewer than {FEWEST_GIVEN} times or beside no other class"
    return f"{few}: {', '.join(combinations[:SHOWN])}{more}"


def _sizes(tables: Sequence[SensitiveCounts]) -> str:
    if not tables[0].given:
        return f"{len(tables[0].classes)} classes"
    return f"{sum(len(table.classes) for table in tables)} combinations with {len(tables)} useful classes"
