"""The page: one self-contained HTML file that needs no network."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from deeprotect.attack.intervals import Interval
from deeprotect.evaluation.methods import WORDS
from deeprotect.evaluation.report.blocks import sections
from deeprotect.evaluation.report.figures import Drawing
from deeprotect.evaluation.report.notes import findings
from deeprotect.evaluation.report.summary import cards, headline
from deeprotect.evaluation.results import Results, Row
from deeprotect.privacy.guarantees import PLAIN, STRONGEST_FIRST, promise, terms


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
            terms={name: terms(name, sensitive=sensitive, given=given) for name in guarantees},
            sections=sections(results.rows),
            models={name: _models(results.rows, name) for name in sensitive},
            most={name: max(each.pooled, default=None) for name, each in self.best.sensitive.items()},
            signals=_signals(results.rows, self.epsilon),
            findings=findings(results.noise),
        )


def template(room: str, name: str) -> Template:
    """A template of a room; what it includes is shared by all pages, and lies here."""

    def load(wanted: str) -> str:
        return files(room if wanted == name else __package__).joinpath(wanted).read_text(encoding="utf-8")

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=FunctionLoader(load)
    )
    environment.filters |= {"accuracy": accuracy, "interval": interval, "number": number, "over": over, "svg": _svg}
    environment.filters |= {"epsilon": epsilon}
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
