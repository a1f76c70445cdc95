"""The first thing a reader sees: the leading row in plain words, and four bars for each inference."""

from dataclasses import dataclass

from deeprotect.attack.intervals import Interval
from deeprotect.errors import quoted, quoted_all
from deeprotect.evaluation.methods import WORDS
from deeprotect.evaluation.results import Row, Sensitive, Useful
from deeprotect.policy import Policy

_NO_ATTACKER = (
    "No inference is named sensitive, so no attacker was run: only the promise speaks about all else a window tells."
)

_QUICK = (
    "This was a quick run (--quick): fewer windows, ε and attackers, and networks that learnt for a short time. Apps "
    "and attackers do better in a full one."
)


@dataclass(frozen=True)
class SummaryCard:
    """Four bars of one inference: raw, released (with its interval), the limit of ε (None: none), guessing."""

    role: str
    name: str
    who: str
    raw: float
    released: float
    interval: Interval
    limit: float | None
    chance: float
    notes: tuple[str, ...]


_EACH = "Below, each mechanism releases the same windows; an app reads them, and attackers try."


def aim(policy: Policy, *, below: str = _EACH) -> str:
    """What a policy wants, for the head of a page, and what stands below."""
    useful, sensitive = policy.inferences.useful, policy.inferences.sensitive
    hidden = f"the {quoted_all(sensitive, ' or the ')}" if sensitive else "anything else"
    wanted = f"An app should learn the {quoted_all(useful, ' and the ')} from the sensors"
    return f"{wanted}, and nobody should learn {hidden}. {below}"


def headline(row: Row, *, quick: bool = False) -> list[str]:
    """Sentences a reader can repeat; that a run was a quick one is said first."""
    what = WORDS.get(row.mechanism, row.mechanism)
    where = "without a promise" if row.epsilon is None else f"at ε = {row.epsilon:g} per window"
    apps = [
        f"{quoted(name)} right in {_per_cent(each.app)} of windows ({_per_cent(each.clean)} raw)"
        for name, each in row.useful.items()
    ]
    sentences = [_QUICK] if quick else []
    sentences += [f"With {row.line} ({what}) {where}, an unchanged app reads {_joined(apps)}."]
    for name, each in row.sensitive.items():
        sentences.append(
            f"The best attacker on {quoted(name)} goes from {_per_cent(each.raw)} on raw windows to "
            f"{_per_cent(each.adaptive)}: {_gain(each)}."
        )
    if not row.sensitive:
        sentences.append(_NO_ATTACKER)
    return sentences


def cards(row: Row) -> list[SummaryCard]:
    return [
        *(_app(name, each) for name, each in row.useful.items()),
        *(_attack(*item) for item in row.sensitive.items()),
    ]


def _app(name: str, facts: Useful) -> SummaryCard:
    return SummaryCard(
        role="useful",
        name=name,
        who="how often an unchanged app names it right",
        raw=facts.clean,
        released=facts.app,
        interval=facts.app_ci,
        limit=facts.limit,
        chance=facts.chance,
        notes=(f"An app retrained on released windows: {_per_cent(facts.retrained)}.",),
    )


def _attack(name: str, facts: Sensitive) -> SummaryCard:
    notes = [
        f"Best attacker: {facts.best_attacker.replace('_', ' ')}. One that was not retrained: "
        f"{_per_cent(facts.static)}. Told only the useful labels: {_per_cent(facts.from_useful)}."
    ]
    if facts.limit is not None and facts.limit > facts.raw:
        notes.append(
            "This ε alone would allow an attacker more than raw windows give; that it gets this little is measured, "
            "not promised."
        )
    return SummaryCard(
        role="sensitive",
        name=name,
        who="how often the best retrained attacker names it right",
        raw=facts.raw,
        released=facts.adaptive,
        interval=facts.adaptive_ci,
        limit=facts.limit,
        chance=facts.chance,
        notes=tuple(notes),
    )


def _gain(facts: Sensitive) -> str:
    """What the release gives an attacker beyond what cannot be hidden."""
    told = facts.from_useful > facts.chance
    floor = max(facts.chance, facts.from_useful)
    known = "being told the useful labels alone" if told else "guessing the most common answer"
    points = round(100 * facts.adaptive) - round(100 * floor)  # of the numbers as they are shown
    if points <= 0:
        return f"no better than {known} ({_per_cent(floor)})"
    return f"{points} point{'s' if points > 1 else ''} more than {known} ({_per_cent(floor)})"


def _joined(parts: list[str]) -> str:
    return " and ".join(parts) or "nothing that was measured"


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%"  # never broken over two lines
