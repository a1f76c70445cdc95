"""The page: one self-contained HTML file that needs no network, with the leading row in plain words at its head."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import NamedTuple

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from deeprotect.attack.predictions import Interval
from deeprotect.errors import quoted, quoted_all
from deeprotect.evaluation.methods import BY_LINE, WORDS, Family
from deeprotect.evaluation.report.drawing import Drawing
from deeprotect.evaluation.results import Results, Row, Sensitive, Useful
from deeprotect.policy import Policy
from deeprotect.privacy.guarantees import PLAIN, STRONGEST_FIRST, promise

_NO_ATTACKER = (
    "No inference is named sensitive, so no attacker was run: only the promise speaks about all else a window tells."
)

_NOTHING = "nothing that was measured"
_QUICK = (
    "This was a quick run (--quick): fewer windows, ε and attackers, and networks that learnt for a short time. Apps "
    "and attackers do better in a full one."
)


class SummaryCard(NamedTuple):
    """Four bars of one inference: raw, released (with its interval), the limit of ε (None: none), guessing."""

    role: str
    who: str
    name: str
    raw: float
    released: float
    interval: Interval
    limit: float | None
    chance: float
    notes: Sequence[str]


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
    where = "without a promise" if row.epsilon is None else f"at ε = {row.epsilon:g} {_per_draw(row)}"
    apps = [
        f"{quoted(name)} right in {_per_cent(each.app)} of windows ({_per_cent(each.clean)} raw)"
        for name, each in row.useful.items()
    ]
    sentences = [_QUICK] if quick else []
    sentences += [f"{row.note[0].upper()}{row.note[1:]}."] if row.note else []
    sentences += [f"With {row.line} ({what}) {where}, an unchanged app reads {' and '.join(apps) or _NOTHING}."]
    for name, each in row.sensitive.items():
        sentences.append(
            f"The best attacker on {quoted(name)} goes from {_per_cent(each.raw)} on raw windows to "
            f"{_per_cent(each.adaptive)}: {_gain(each)}."
        )
    if not row.sensitive:
        sentences.append(_NO_ATTACKER)
    return sentences


def _per_draw(row: Row) -> str:
    """What one draw stands for, as far as the row says."""
    if row.slots is not None:
        return f"for a script of {row.seconds_per_draw:g} s"
    return "per draw" if row.seconds_per_draw is None else f"for {row.seconds_per_draw:g} s"


def cards(row: Row) -> list[SummaryCard]:
    return [
        SummaryCard(*_described(each), name, each.raw, *each.released, each.limit, each.chance, _notes(each))
        for name, each in row.inferences
    ]


def _described(facts: Useful | Sensitive) -> tuple[str, str]:
    if isinstance(facts, Useful):
        return "useful", "how often an unchanged app names it right"
    return "sensitive", "how often the best retrained attacker names it right"


def _notes(facts: Useful | Sensitive) -> list[str]:
    if isinstance(facts, Useful):
        retrained = facts.retrained
        return [] if retrained is None else [f"An app retrained on released windows: {_per_cent(retrained)}."]
    notes = [
        f"Best attacker: {facts.best_attacker.replace('_', ' ')}. One that was not retrained: "
        f"{_per_cent(facts.static)}. Told only the useful labels: {_per_cent(facts.from_useful)}."
    ]
    if facts.limit is not None and facts.limit > facts.raw:
        notes.append(
            "This ε alone would allow an attacker more than raw windows give; that it gets this little is measured, "
            "not promised."
        )
    return notes


def _gain(facts: Sensitive) -> str:
    """What the release gives an attacker beyond what cannot be hidden."""
    told, floor = facts.from_useful > facts.chance, facts.floor
    known = "being told the useful labels alone" if told else "guessing the most common answer"
    points = round(100 * facts.adaptive) - round(100 * floor)  # of the numbers as they are shown
    if points <= 0:
        return f"no better than {known} ({_per_cent(floor)})"
    return f"{points} point{'s' if points > 1 else ''} more than {known} ({_per_cent(floor)})"


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%"  # never broken over two lines


@dataclass(frozen=True)
class Group:
    """Drawings under one heading; `anchor` is its address on the page."""

    anchor: str
    title: str
    text: str
    drawings: Sequence[Drawing]


@dataclass(frozen=True)
class Page:
    """What the page says besides the results: the row to lead with, the drawings, and how to read them.

    `opening` is the promise of that row in two sentences; `epsilon` is the one at which rows are compared; `contains`
    says what of the table stands here; `confidence` is that of named promises; `units` are the channels', where known.
    """

    title: str
    lead: str
    best: Row
    epsilon: float
    groups: Sequence[Group]
    reading: Sequence[str]
    untested: Sequence[str]
    contains: Sequence[str] = ()
    opening: Sequence[str] = ()
    confidence: float = 1.0
    units: Mapping[str, str] = field(default_factory=dict)

    def render(self, results: Results) -> str:
        found = {row.guarantee for row in results.rows}
        guarantees = [name for name in STRONGEST_FIRST if name in found]
        sensitive = list(self.best.sensitive)
        given = list(dict.fromkeys(name for row in results.rows for name in row.given))
        return template(__package__, "page.html").render(
            page=self,
            results=results,
            run=results.run,
            best=self.best,
            names=WORDS,
            plain=PLAIN,
            headline=headline(self.best, quick=bool(results.run.get("quick"))),
            cards=cards(self.best),
            promises={name: promise(name, sensitive=sensitive, given=given) for name in guarantees},
            sections=sections(results.rows),
            models={name: _models(results.rows, name) for name in sensitive},
            most={name: max(each.pooled, default=None) for name, each in self.best.sensitive.items()},
            signals=_signals(results.rows, self.epsilon),
        )


class TableBlock(NamedTuple):
    """Rows of one line: the same mechanism and promise at several ε."""

    name: str
    rows: Sequence[Row]


class TableSection(NamedTuple):
    """Blocks of one kind."""

    title: str
    blocks: Sequence[TableBlock]


def sections(rows: Sequence[Row]) -> list[TableSection]:
    """Every row stands in exactly one of them; a kind without rows has none."""
    lines = dict.fromkeys(row.line for row in rows)
    ordered = sorted(rows, key=lambda row: row.epsilon or 0.0)
    blocks = [TableBlock(name, [row for row in ordered if row.line == name]) for name in lines]
    kinds = {
        "Mechanisms": [block for block in blocks if _family(block) == "mechanism"],
        "References": [block for block in blocks if _family(block) == "reference"],
    }
    return [TableSection(title, found) for title, found in kinds.items() if found]


def _family(block: TableBlock) -> Family:
    return BY_LINE[block.name].family if block.name in BY_LINE else "reference"


def template(room: str, name: str) -> Template:
    """A template of a room; what it includes is shared by all pages, and lies here."""

    def load(wanted: str) -> str:
        return files(room if wanted == name else __package__).joinpath(wanted).read_text(encoding="utf-8")

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=FunctionLoader(load)
    )
    environment.filters |= {"accuracy": accuracy, "interval": interval, "number": number, "over": over, "svg": _svg}
    environment.filters["epsilon"] = epsilon
    return environment.get_template(name)


def accuracy(value: float | None) -> str:
    """Per cent, as people read it; a dash where there is none."""
    return "–" if value is None else f"{100 * value:.0f} %"


def interval(value: Interval) -> str:
    low, high = value
    return f"{100 * low:.0f}–{100 * high:.0f}"


def number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def over(value: float, base: float) -> float | None:
    """A ratio, where there is one: codes that never vary have no spread to hold noise against."""
    return value / base if base else None


def epsilon(value: float | None) -> str:
    return "no ε" if value is None else f"ε = {value:g}"


def _svg(drawing: Drawing) -> Markup:
    return Markup(drawing.svg())  # our own drawing, and matplotlib escapes the labels in it  # noqa: S704


def _signals(rows: Sequence[Row], epsilon: float) -> list[Row]:
    """Rows that can be compared by how far they move the signal: those at one ε, and those without any."""
    return [row for row in rows if row.signal and (row.epsilon is None or math.isclose(row.epsilon, epsilon))]


def _models(rows: Sequence[Row], inference: str) -> list[str]:
    """Every attacker that any row met: some fit some releases only."""
    return list(dict.fromkeys(name for row in rows for name in row.sensitive[inference].attackers))
