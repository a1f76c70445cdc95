"""The report page: one self-contained HTML file that needs no network and opens with the leading row in plain words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from deeprotect.attack.predictions import Interval
from deeprotect.errors import quoted, quoted_all
from deeprotect.evaluation.excerpt import Excerpt
from deeprotect.evaluation.methods import BY_LINE, WORDS, Family
from deeprotect.evaluation.report.drawing import Drawing
from deeprotect.evaluation.results import Results, Row
from deeprotect.policy import Policy
from deeprotect.privacy.guarantees import PLAIN, STRONGEST_FIRST, promise

_EACH = "Below, each mechanism releases the same windows, and an app and attackers try to recognise their labels."


def aim(policy: Policy, *, below: str = _EACH) -> str:
    """The policy's aim, for the head of a page, and an introduction to what follows."""
    useful, sensitive = policy.inferences.useful, policy.inferences.sensitive
    hidden = f"the {quoted_all(sensitive, ' or the ')}" if sensitive else "anything else"
    wanted = f"An app should learn the {quoted_all(useful, ' and the ')} from the sensors"
    return f"{wanted}, but not {hidden}. {below}"


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%"  # never broken over two lines


@dataclass(frozen=True)
class Group:
    """Figures under one heading, with a text in groups.html; `anchor` is its address on the page."""

    anchor: str
    drawings: Sequence[Drawing]


@dataclass(frozen=True)
class Page:
    """The content of a page besides the results: the leading row, the figures, and how to read them.

    `opening` states the promise of that row in two sentences; `epsilon` is the one at which rows are compared;
    `excerpt` holds windows to draw; `reading` explains the numbers if the usual text does not apply.
    """

    title: str
    lead: str
    best: Row
    epsilon: float
    groups: Sequence[Group]
    opening: Sequence[str] = ()
    excerpt: Excerpt | None = None
    reading: Sequence[str] = ()

    def render(self, results: Results) -> str:
        found = {row.guarantee for row in results.rows}
        guarantees = [name for name in STRONGEST_FIRST if name in found]
        sensitive = list(self.best.sensitive)
        return template(__package__, "page.html").render(
            page=self,
            results=results,
            run=results.run,
            best=self.best,
            names=WORDS,
            plain=PLAIN,
            promises={name: promise(name, sensitive=sensitive) for name in guarantees},
            sections=sections(results.rows),
            models={name: _models(results.rows, name) for name in sensitive},
            most={name: max(each.pooled, default=None) for name, each in self.best.sensitive.items()},
            attackers=[each.replace("_", " ") for each in _models(results.rows, *sensitive)],
            epsilons=sorted({row.epsilon for row in results.rows if row.epsilon is not None}),
            units={} if self.excerpt is None else {each.name: each.unit for each in self.excerpt.schema.channels},
            signals=_signals(results.rows, self.epsilon),
        )


class TableBlock(NamedTuple):
    """Rows with the same mechanism and promise at several ε."""

    name: str
    rows: Sequence[Row]


class TableSection(NamedTuple):
    """Blocks of one kind."""

    title: str
    blocks: Sequence[TableBlock]


def sections(rows: Sequence[Row]) -> list[TableSection]:
    """Groups every row by kind; kinds without rows are left out."""
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
    """A page template of a package; shared parts are in this package."""

    def load(wanted: str) -> str:
        return files(room if wanted == name else __package__).joinpath(wanted).read_text(encoding="utf-8")

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=FunctionLoader(load)
    )
    environment.filters |= {"accuracy": accuracy, "interval": interval, "number": number, "over": over, "svg": _svg}
    environment.filters |= {"epsilon": epsilon, "per_cent": _per_cent, "quoted": quoted}
    return environment.get_template(name)


def accuracy(value: float | None) -> str:
    """Per cent for readers; a dash if missing."""
    return "–" if value is None else f"{100 * value:.0f} %"


def interval(value: Interval) -> str:
    low, high = value
    return f"{100 * low:.0f}–{100 * high:.0f}"


def number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def over(value: float, base: float) -> float | None:
    """A ratio, if defined: codes that never vary have no spread to compare noise with."""
    return value / base if base else None


def epsilon(value: float | None) -> str:
    return "no ε" if value is None else f"ε = {value:g}"


def _svg(drawing: Drawing) -> Markup:
    return Markup(drawing.svg())  # our own figure; matplotlib escapes its labels  # noqa: S704


def _signals(rows: Sequence[Row], epsilon: float) -> list[Row]:
    """Rows that can be compared by their change of the signal: those at one ε, and those without any."""
    return [row for row in rows if row.signal and (row.epsilon is None or math.isclose(row.epsilon, epsilon))]


def _models(rows: Sequence[Row], *inferences: str) -> list[str]:
    """Every attacker on any row, in the order in which they were tried: some apply to some releases only."""
    attacks = [row.sensitive[inference] for row in rows for inference in inferences]
    return list(dict.fromkeys(name for each in attacks for name in each.attackers))
