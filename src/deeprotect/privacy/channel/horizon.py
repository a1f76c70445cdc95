"""How long until the secret is out, in words: an estimate that training makes. A named promise bounds one draw;
nothing here is promised. docs/claims.md#the-horizon
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deeprotect.errors import quoted

_UNITS = ((365.25 * 86400, "years"), (86400, "days"), (3600, "hours"), (60, "minutes"), (1, "seconds"))


@dataclass(frozen=True)
class Horizon:
    """Draws until classes of an inference are told apart, all of one useful class where one is `given`.

    `of_all`: until a best attacker names the class rightly half of the time (of two classes, three times in four).
    `of_pair`: until the easiest pair is told apart three times in four. None where calibration shows no difference.
    """

    inference: str
    given: str
    classes: int
    of_all: float | None
    of_pair: float | None


def in_words(draws: float | None, seconds_per_draw: float) -> str:
    """A time that nobody takes for exact: "after about 40 minutes"."""
    if draws is None:
        return "never, as far as calibration shows"
    seconds = draws * seconds_per_draw
    size, unit = next((each for each in _UNITS if seconds >= 2 * each[0]), _UNITS[-1])
    counted = "1 draw" if draws == 1 else f"{draws:,.0f} draws"
    return f"after about {float(f'{seconds / size:.2g}'):g} {unit} ({counted})"


def described(found: Sequence[Horizon], *, seconds_per_draw: float) -> Iterator[str]:
    """For `describe`: for each sensitive inference, the useful class that gives it away first; no class is named."""
    for inference in dict.fromkeys(each.inference for each in found):
        several = [each for each in found if each.inference == inference]
        first = min(several, key=lambda each: each.of_all or math.inf)
        pair = min(several, key=lambda each: each.of_pair or math.inf)
        often = "half of the time" if first.classes > 2 else "three times in four"
        alike = ", all of the most telling useful class" if any(each.given for each in several) else ""
        yield (
            f"an attacker is right about {quoted(inference)} {often}: {in_words(first.of_all, seconds_per_draw)}; and "
            f"about its easiest two classes three times in four: {in_words(pair.of_pair, seconds_per_draw)}; at one "
            f"draw every {seconds_per_draw:g} s{alike}"
        )
