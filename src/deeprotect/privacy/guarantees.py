"""Promises in words. Each sentence exists here once, and cards, reports and the console's pages print it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from deeprotect.errors import quoted_all
from deeprotect.privacy.events import Event, shown

PLAIN = {"ldp": "any two windows", "rldp": "linear directions only", "none": "no promise"}
STRONGEST_FIRST = tuple(PLAIN)
_HUGE = 1e6
_UNITS = ((3600.0, "hour"), (60.0, "minute"), (1.0, "second"))
_BEGINS = " Every recording, file and live session begins a new one, however short."
_METADATA = "metadata (recording names, time stamps, the number of rows)"


@dataclass(frozen=True)
class Promise:
    """One guarantee: the promise in a sentence, how surely it holds, against whom, for how much, and where it ends."""

    promised: str
    holds: str
    against: str
    covers: str
    not_covered: str


_WORDS = {
    "ldp": Promise(
        promised="Whatever you do in {one}, its release can shift anyone's odds about it by at most a factor of "
        "{factor}, whatever they know and however they compute.",
        holds="This is certain: it follows from the noise alone, if the program and its random numbers are sound.",
        against="Anyone, with any model, any computing power and any side knowledge, including the protector's files.",
        covers="One {per}. T of them cost T·ε, and each app has draws of its own.{begins}",
        not_covered="It does not cover several {many} together, whose factors multiply (any {many_one} of that length "
        "that starts elsewhere overlaps two of them, or more where another recording begins in it, and each app has "
        "draws of its own), {beside}, or the fact that something was released.",
    ),
    "rldp": Promise(
        promised="One {length} can shift anyone's odds between two recordings by at most a factor of {factor}, if they "
        "differ only along the directions that linear classifiers of {hidden} look at. Where those directions are "
        "erased first, such recordings are released alike, in any number of draws.",
        holds="This is arithmetic about directions, certain for the weights as fitted in training; that these are the "
        "right ones is taken on trust.",
        against="No attacker in particular: it is about directions, and other classifiers look along others.",
        covers="One {per}, along those directions; where they are erased, any number of draws.",
        not_covered="It does not cover any other attacker, such as a decision tree or a neural network (go by the "
        "measured attacker, not by this factor), several {many} together unless the directions are erased, anything "
        "but {hidden}, or {beside}.",
    ),
    "none": Promise(
        promised="Nothing is promised: attackers are only measured, and a better one may learn more.",
        holds="",
        against="Nobody.",
        covers="Nothing. Such rows show what formal promises cost.",
        not_covered="Everything: an attacker nobody has thought of yet may learn all that raw windows reveal.",
    ),
}


class Opening(NamedTuple):
    """The two paragraphs that open a card: what is promised, and what is not."""

    promised: str
    not_covered: str


def promise(
    guarantee: str,
    epsilon: float | None = None,
    *,
    sensitive: Sequence[str] = (),
    per: str = "window",
    seconds: float | None = None,
) -> Promise:
    """Words for one ε, or for any; `sensitive` are the inferences that the promise names.

    `per` is what one draw covers, and `seconds` how long that is.
    """
    many_one = per if seconds is None else "stretch"
    length = per if seconds is None else f"stretch of {span(seconds)}"
    values = {
        "per": per,
        "one": f"one {length}",
        "length": length,
        "many_one": many_one,
        "many": f"{many_one}es" if many_one == "stretch" else f"{many_one}s",
        "factor": "e^ε" if epsilon is None else factor(epsilon),
        "hidden": quoted_all(sensitive, " or ") or "the sensitive inferences",
        "begins": _BEGINS if per == "episode" else "",
        "beside": _METADATA,
    }
    template = _WORDS[guarantee]
    return Promise(*(getattr(template, field.name).format_map(values) for field in fields(Promise)))


def opening(event: Event, *, seconds: float) -> Opening:
    """Words about one draw that an officer can repeat to a regulator; it covers `seconds` of a recording."""
    found = promise(event.guarantee, event.epsilon, sensitive=event.inferences, per=event.per, seconds=seconds)
    said = " ".join([found.promised, odds(event.epsilon), found.holds, *_erased(event)])
    return Opening(f"{said} Recordings are cut into such stretches.", found.not_covered)


def _erased(event: Event) -> Iterator[str]:
    if event.erased:
        hidden = quoted_all(event.erased, " or ")
        yield (
            f"Before anything else, the directions along which linear classifiers read {hidden} are taken out of each "
            "window, exactly: recordings that differ along those alone are released alike, in any number of draws. "
            "This is arithmetic about directions, not about attackers: other classifiers may read "
            f"{hidden} from what is left."
        )


def span(seconds: float) -> str:
    """A time as people say it: 1 second, 2.5 seconds, 30 minutes."""
    size, unit = next((each for each in _UNITS if seconds >= each[0]), _UNITS[-1])
    count = f"{seconds / size:.4g}"
    return f"{count} {unit}" if count == "1" else f"{count} {unit}s"


def factor(epsilon: float) -> str:
    """e^ε, rounded up; as a power if the number is too large to mean anything."""
    value = math.exp(min(epsilon, 700.0))
    if value >= _HUGE:
        return f"e^{shown(epsilon)}"
    return f"{math.ceil(value * 10) / 10 if value < 10 else math.ceil(value):,}"


def odds(epsilon: float) -> str:
    """The same factor as odds, and as certainty, which is never rounded to 100 %."""
    value = math.exp(min(epsilon, 700.0))
    if value >= _HUGE:
        return "That is over a million, so hardly a limit."
    digits = max(1, math.ceil(math.log10(1 + value)) - 2)  # so many that none is 100 %
    sure = math.ceil(100 * 10**digits * value / (1 + value)) / 10**digits
    return f"Even odds become at most {factor(epsilon)} to 1, or {sure:.{digits}f} % sure."
