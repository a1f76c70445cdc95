"""A promise in words. Each sentence exists here once: cards, reports and the console's pages all print these."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from deeprotect.errors import quoted_all
from deeprotect.privacy.events import Event, shown

PLAIN = {"ldp": "any two windows", "named": "named inferences", "rldp": "linear directions only", "none": "no promise"}
STRONGEST_FIRST = tuple(PLAIN)
_HUGE = 1e6
_UNITS = ((3600.0, "hour"), (60.0, "minute"), (1.0, "second"))
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
        covers="One {per}. T of them cost T·ε, and each app has draws of its own.",
        not_covered="It does not cover several {many} together, whose factors multiply (any {many_one} of that length "
        "that starts elsewhere overlaps two of them, and each app has draws of its own), {beside}, or the fact that "
        "something was released.",
    ),
    "named": Promise(
        promised="{beyond}one {length} can shift anyone's odds between any two classes of {hidden}{often} by at most a "
        "factor of {factor}, with {confidence} confidence.",
        holds="The confidence is for all classes together. It assumes that recordings are independent of each other, "
        "and that the next one is like those used for calibration.",
        against="Anyone who {knows}wants to learn {hidden} from one {per}, with any model.",
        covers="One {per}, drawn at random from the next recording{alike}.",
        not_covered="It does not cover {told}{rare}several {many} together, anything but {hidden}{ceiling}, people or "
        "sensors that were not in those recordings, an observer who knows more about the {many_one}, or {beside}.",
    ),
    "rldp": Promise(
        promised="One {length} can shift anyone's odds between two recordings by at most a factor of {factor}, if they "
        "differ only in what a linear classifier of {hidden} looks at.",
        holds="This is certain for the classifier's weights as fitted in training; that these are the right ones is "
        "taken on trust.",
        against="Linear classifiers of {hidden}.",
        covers="One {per}, along the directions that those classifiers use.",
        not_covered="It does not cover any other attacker, such as a decision tree or a neural network (go by the "
        "measured attacker, not by this factor), several {many} together, anything but {hidden}, or {beside}.",
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


class Combinations(NamedTuple):
    """Sensitive classes, or combinations with a useful one: how many are promised something, and how many are not."""

    promised: int
    rare: int


def promise(
    guarantee: str,
    epsilon: float | None = None,
    *,
    sensitive: Sequence[str] = (),
    given: Sequence[str] = (),
    per: str = "window",
    seconds: float | None = None,
    confidence: float | None = None,
    ldp_epsilon: float | None = None,
    rare: str = "",
) -> Promise:
    """For one ε or for any; `sensitive` are the inferences that it names, `given` those that it takes for known.

    `per` is what one draw is for, and `seconds` how long that is; `rare` says which classes it leaves out.
    """
    known, many_one = quoted_all(given), per if seconds is None else "stretch"
    length = per if seconds is None else f"stretch of {span(seconds)}"
    values = {
        "per": per,
        "one": f"one {length}",
        "length": length,
        "many_one": many_one,
        "many": f"{many_one}es" if many_one == "stretch" else f"{many_one}s",
        "factor": "e^ε" if epsilon is None else factor(epsilon),
        "hidden": quoted_all(sensitive, " or ") or "the sensitive inferences",
        "confidence": "the stated" if confidence is None else f"{100 * confidence:.4g} %",
        "beyond": f"Beyond {known}, " if known else "",
        "knows": f"knows {known} and " if known else "",
        "alike": f", whatever its class of {known} and however often each occurs, if it is as in calibration"
        if known
        else "",
        "told": f"what {known} alone reveals, such as who does what and how often, draws during which it changes, "
        if known
        else "",
        "ceiling": "" if ldp_epsilon is None else f" (where the factor is {factor(ldp_epsilon)})",
        "often": " with enough recordings" if rare else "",
        "rare": f"{rare}, " if rare else "",
        "beside": _METADATA,
    }
    template = _WORDS[guarantee]
    return Promise(*(_sentence(getattr(template, field.name).format_map(values)) for field in fields(Promise)))


def opening(
    event: Event, *, seconds: float, ldp_epsilon: float | None = None, combinations: Combinations | None = None
) -> Opening:
    """Of one draw, which covers `seconds` of a recording: words that an officer can repeat to a regulator.

    `ldp_epsilon` is what holds for any inference beside a named promise, and then comes first.
    """
    named = event.guarantee == "named"
    found = promise(
        event.guarantee,
        event.epsilon,
        sensitive=event.inferences,
        given=event.given,
        per=event.per,
        seconds=seconds,
        confidence=event.confidence,
        ldp_epsilon=ldp_epsilon if named else None,
        rare=_rare(event, combinations) if named else "",
    )
    first = [promise("ldp", ldp_epsilon, seconds=seconds).promised] if named and ldp_epsilon is not None else []
    said = " ".join([*first, found.promised, odds(event.epsilon), found.holds])
    return Opening(f"{said} Recordings are cut into such stretches.", found.not_covered)


def span(seconds: float) -> str:
    """A time as people say it: 1 second, 2.5 seconds, 30 minutes."""
    size, unit = next((each for each in _UNITS if seconds >= each[0]), _UNITS[-1])
    count = f"{seconds / size:.4g}"
    return f"{count} {unit}" if count == "1" else f"{count} {unit}s"


def factor(epsilon: float) -> str:
    """e^ε, rounded up; as a power where the number would tell nobody anything."""
    value = math.exp(min(epsilon, 700.0))
    if value >= _HUGE:
        return f"e^{shown(epsilon)}"
    return f"{math.ceil(value * 10) / 10 if value < 10 else math.ceil(value):,}"


def odds(epsilon: float) -> str:
    """The factor once more, as odds and as certainty, which is never rounded to 100 %."""
    value = math.exp(min(epsilon, 700.0))
    if value >= _HUGE:
        return "That is over a million, so hardly a limit."
    digits = max(1, math.ceil(math.log10(1 + value)) - 2)  # so many that none is 100 %
    sure = math.ceil(100 * 10**digits * value / (1 + value)) / 10**digits
    return f"Even odds become at most {factor(epsilon)} to 1, or {sure:.{digits}f} % sure."


def _rare(event: Event, found: Combinations | None) -> str:
    """What nothing is promised about by name; nothing where all was recorded often enough."""
    named = quoted_all(event.inferences, " or ")
    cells = f"combinations of {quoted_all(event.given)} and {named}" if event.given else f"classes of {named}"
    if found is None:
        return f"{cells} with too few recordings" if event.given else ""
    return f"{found.rare} of the {sum(found)} {cells}, which have too few recordings" if found.rare else ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
