"""The two sentences that open every card: a promise in words that an officer can repeat to a regulator."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from deeprotect.errors import quoted, quoted_all
from deeprotect.privacy.events import Event

_HUGE = 1e6
_UNITS = ((3600.0, "hour"), (60.0, "minute"), (1.0, "second"))
_SEVERAL = (
    "several stretches together, whose factors multiply (any time of that length that begins elsewhere meets two of "
    "them, and each app has draws of its own)"
)
_BESIDE = "what stands beside the samples (names of recordings, time stamps, the number of rows)"


class Opening(NamedTuple):
    """Who is protected against whom, for how long and by how much; and what is left out of that."""

    promised: str
    not_covered: str


class Combinations(NamedTuple):
    """Sensitive classes, or combinations with a useful one: how many are promised something, and how many are not."""

    promised: int
    rare: int


def opening(
    event: Event,
    *,
    seconds: float,
    classes: Mapping[str, int] | None = None,
    ldp_epsilon: float | None = None,
    combinations: Combinations | None = None,
) -> Opening:
    """Of one draw, which covers `seconds` of a recording.

    `classes` are how many each named inference has; `ldp_epsilon` is what holds beside a named promise, if anything;
    `combinations` are those of a promise beyond a useful label, where they were counted.
    """
    match event.guarantee:
        case "ldp":
            return _for_anything(event, seconds)
        case "named":
            rare = _rare(event, combinations)
            return _for_named(event, seconds, classes or {}, ldp_epsilon=ldp_epsilon, rare=rare)
    return _for_linear(event, seconds)


def span(seconds: float) -> str:
    """A time as people say it: 1 second, 2.5 seconds, 30 minutes."""
    size, unit = next((each for each in _UNITS if seconds >= each[0]), _UNITS[-1])
    count = f"{seconds / size:.4g}"
    return f"{count} {unit}" if count == "1" else f"{count} {unit}s"


def factor(epsilon: float) -> str:
    """e^ε rounded up, as odds and as certainty."""
    value = math.exp(min(epsilon, 700.0))
    if value >= _HUGE:
        return "a factor of more than a million (which is to say hardly at all)"
    shown = math.ceil(value * 10) / 10 if value < 10 else math.ceil(value)
    digits = max(1, math.ceil(math.log10(1 + value)) - 2)  # so many that none is 100 %
    sure = math.ceil(100 * 10**digits * value / (1 + value)) / 10**digits
    return f"a factor of {shown:,} (even odds become at most {shown:,} to 1, which is being {sure:.{digits}f} % sure)"


def _for_anything(event: Event, seconds: float) -> Opening:
    return Opening(
        f"From one {_stretch(seconds)} nobody, whatever they know and whatever model or computer they use, can shift "
        f"their odds between any two things that the sensors may have recorded by more than {factor(event.epsilon)}; "
        "this holds for everyone with certainty, because it follows from the noise alone, and assumes only that the "
        "program and its random numbers are sound.",
        f"It does not cover {_SEVERAL}, {_BESIDE}, or that something was released at all.",
    )


def _rare(event: Event, found: Combinations | None) -> str:
    """What nothing is promised about by name; nothing where all was recorded often enough."""
    named = quoted_all(event.inferences, " or ")
    cells = f"combinations of {quoted_all(event.given)} and {named}" if event.given else f"classes of {named}"
    if found is None:
        return f"{cells} with too few recordings" if event.given else ""
    return f"{found.rare} of the {sum(found)} {cells}, which have too few recordings" if found.rare else ""


def _for_named(
    event: Event, seconds: float, classes: Mapping[str, int], *, ldp_epsilon: float | None, rare: str
) -> Opening:
    names, known = quoted_all(event.inferences, " or "), quoted_all(event.given)
    counted = [
        f"any two of the {classes[name]} classes of {quoted(name)}" for name in event.inferences if name in classes
    ]
    between = " or ".join(counted) or f"any two classes of {names}"
    beside = f" (where {_multiple(ldp_epsilon)} holds, whatever is assumed)" if ldp_epsilon is not None else ""
    told = f"what {known} alone tells, such as who does what how often, " if known else ""
    uncovered = f"{told}{rare}{', ' if rare else ''}"
    often = " with enough recordings" if rare else ""
    return Opening(
        f"{f'Beyond what {known} itself tells, from' if known else 'From'} one {_stretch(seconds)} nobody, whatever "
        f"model or computer they use, can shift their odds between {between}{often} by more than "
        f"{factor(event.epsilon)}; this holds for all of them together with "
        f"{100 * event.confidence:.4g} % confidence, if recordings are independent of each other and the next one is "
        "like those that it was calibrated on.",
        f"It does not cover {uncovered}several stretches together, anything but {names}{beside}, people who were not "
        f"in those recordings, an observer who knows more about the stretch, or {_BESIDE}.",
    )


def _for_linear(event: Event, seconds: float) -> Opening:
    names = quoted_all(event.inferences, " or ")
    return Opening(
        f"In one {_stretch(seconds)} nobody can shift their odds by more than {factor(event.epsilon)} between two "
        f"recordings that differ only in what a linear classifier of {names} (fixed weights for samples) looks at; "
        "this holds with certainty for the weights that were fitted in training, which are taken on trust.",
        "It does not cover any other attacker, such as a decision tree or a neural network, so read the attacker that "
        f"was measured and not this factor; nor several stretches together, anything but {names}, or {_BESIDE}.",
    )


def _stretch(seconds: float) -> str:
    return f"stretch of {span(seconds)} of released data (recordings are cut into such stretches)"


def _multiple(epsilon: float) -> str:
    return factor(epsilon).partition(" (")[0]
