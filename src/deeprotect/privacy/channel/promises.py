"""Named promises of a channel: for each a set of conditionals that its outputs do not tell apart; and what has none.

A set is all that a bundle says about calibration: nothing in it is of one class alone.
docs/claims.md#channel-and-named-inferences
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import BundleError, PolicyError, quoted
from deeprotect.privacy.channel.betting import UNIT, least_end, needed
from deeprotect.privacy.channel.ratios import Weights, log_up, named_ratio
from deeprotect.privacy.events import Event, Step
from deeprotect.privacy.json_reader import JsonReader
from deeprotect.privacy.size_limits import LONGEST_IN_BUNDLE, MOST_RECORDINGS, MOST_TABLES, check_names

LONGEST_CODE = 1000  # a useful class joins the classes of all useful inferences
_ASSUMES = (
    "recordings are independent of each other, in calibration and later, those of {cell} alike; one {per} is seen"
)


@dataclass(frozen=True)
class NamedPromise:
    """No output is e^epsilon times as likely under one P(code | class) of the set as under another.

    The set is `low` ≤ p ≤ `high` with Σp = 1, in units of 2^-30; it holds those of all `classes`, each of which had
    `recordings` or more to calibrate with. With `given` all of it is about draws of that useful class.
    """

    inference: str
    epsilon: float
    classes: tuple[str, ...]
    recordings: int
    low: tuple[int, ...]
    high: tuple[int, ...]
    given: str = ""

    def __post_init__(self) -> None:
        _check_names(self)
        if len(self.classes) < 2 or not 1 <= self.recordings <= MOST_RECORDINGS:
            raise PolicyError(f"{self} needs two classes or more, with up to {MOST_RECORDINGS} recordings each")
        if not self.epsilon >= 0:
            raise PolicyError(f"{self}: epsilon = {self.epsilon} must not be negative")
        inside = all(0 <= low <= high <= UNIT for low, high in zip(self.low, self.high, strict=False))
        if len(self.low) != len(self.high) or not (inside and sum(self.low) <= UNIT <= sum(self.high)):
            raise PolicyError(f"{self}: its set holds no probabilities of codes; calibrate again")

    @property
    def box(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return np.array(self.low, dtype=np.int64), np.array(self.high, dtype=np.int64)

    def __str__(self) -> str:
        return quoted(self.inference) if not self.given else f"{quoted(self.inference)} given {quoted(self.given)}"


@dataclass(frozen=True)
class Unpromised:
    """Classes of a secret, with a useful class where one is given, that only LDP holds for.

    One of them had no more than `recordings` to calibrate with, and it takes `needed`; or none has another beside it.
    """

    inference: str
    given: str
    classes: tuple[str, ...]
    recordings: int
    needed: int

    def __post_init__(self) -> None:
        _check_names(self)
        if not self.classes or not 0 <= self.recordings <= MOST_RECORDINGS or not 1 <= self.needed <= MOST_RECORDINGS:
            raise PolicyError(f"what is not promised of {quoted(self.inference)} has no numbers of recordings")


def _check_names(entry: NamedPromise | Unpromised) -> None:
    names = (entry.inference, *entry.classes)
    check_names(names, "the name of an inference or of its class", longest=LONGEST_IN_BUNDLE)
    if len({*entry.classes}) < len(entry.classes):
        raise PolicyError(f"{quoted(entry.inference)} has two classes of one name; calibrate again")
    if entry.given:
        check_names((entry.given,), "the name of a useful class", longest=LONGEST_CODE)


def miss_of_an_end(confidence: float, *, inferences: int, cells: int, codes: int) -> float:
    """How often each end of an interval may be wrong, so that all ends of all cells of all inferences seldom are.

    A recording may be in many cells, so nothing is known of their misses but that they add up; two codes are one share.
    """
    return (1.0 - confidence) / (inferences * cells * 2 * (codes if codes > 2 else 1)) * (1.0 - 2.0**-40)


def check_promises(
    event: Event, promises: Sequence[NamedPromise], rest: Sequence[Unpromised], *, useful: Sequence[str]
) -> None:
    """Every useful class is accounted for, and no set is narrower than its number of recordings allows."""
    for inference in event.inferences:
        own = [each for each in promises if each.inference == inference]
        left = [each for each in rest if each.inference == inference]
        cells = _cells(event, own, left, useful=useful)
        miss = miss_of_an_end(event.confidence, inferences=len(event.inferences), cells=cells, codes=len(own[0].low))
        _check_evidence(own, left, miss)
    if {each.inference for each in rest} - {*event.inferences} and event.guarantee == "named":
        raise PolicyError("what is not promised is about inferences that the event does not name; calibrate again")


def _cells(event: Event, own: Sequence[NamedPromise], left: Sequence[Unpromised], *, useful: Sequence[str]) -> int:
    """How many classes of a secret there are, with each useful class where some are given: each must stand once."""
    expected = tuple(useful) if event.given else ("",)
    both: list[NamedPromise | Unpromised] = [*own, *left]
    found = [(each.given, name) for each in both for name in each.classes]
    classes = {name for _, name in found}
    if {given for given, _ in found} != {*expected} or len({*expected}) < len(expected):
        raise PolicyError(f"{quoted(own[0].inference)} must be calibrated with each class that is given, and no other")
    if len({*found}) < len(found) or len(found) != len(expected) * len(classes):
        raise PolicyError(f"{quoted(own[0].inference)} must state each class once with each that is given")
    if len({each.epsilon for each in own}) != 1 or len({each.given for each in own}) < len(own):
        raise PolicyError(f"{quoted(own[0].inference)} needs one epsilon, and one set for each class that is given")
    return len(found)


def _check_evidence(own: Sequence[NamedPromise], left: Sequence[Unpromised], miss: float) -> None:
    least = needed(miss)
    if any(each.recordings < least for each in own) or any(each.needed != least for each in left):
        raise PolicyError(f"{quoted(own[0].inference)} needs {least} calibration recordings of each class")
    for each in own:
        end = least_end(each.recordings, miss=miss)
        if len(each.low) > 1 and (min(each.high) < end or max(each.low) > UNIT - end):
            raise PolicyError(
                f"{each}: {each.recordings} recordings give wider sets at this confidence; calibrate again"
            )


def to_json(entries: Sequence[NamedPromise | Unpromised]) -> list[dict[str, Any]]:
    return [
        {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(each).items()}
        for each in entries
    ]


def read(record: JsonReader) -> tuple[tuple[NamedPromise, ...], tuple[Unpromised, ...]]:
    """What `to_json` wrote under 'promises' and 'unpromised'."""
    parts = record.objects("promises"), record.objects("unpromised")
    if max(map(len, parts)) > MOST_TABLES:
        raise BundleError(f"{record.name}: more than {MOST_TABLES} promises cannot be checked; name fewer inferences")
    return tuple(each.build(NamedPromise) for each in parts[0]), tuple(each.build(Unpromised) for each in parts[1])


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
    without, fewest = sum(len(each.classes) for each in few), min(each.recordings for each in few)
    every = without + sum(len(each.classes) for each in promises if each.inference == name)
    cells = f"combinations of a useful class and {quoted(name)}" if few[0].given else f"classes of {quoted(name)}"
    why, lacks = (
        "a promise compares two classes, and one has no other with enough recordings",
        "nothing to compare with",
    )
    takes = few[0].needed
    if fewest < takes:
        lacks = "too few recordings"
        why = f"one has {fewest} recording{'' if fewest == 1 else 's'} to calibrate with and needs {takes}"
    open_to = f"{without} of {every} {cells} have no named promise; ε-LDP holds for them"
    if event.guarantee == "ldp":
        open_to = f"there is no named promise, and the release is LDP instead, because {without} {cells} have {lacks}"
    return f"{open_to}: {why}; record about {2 * takes} of each, half of which calibrate"


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
