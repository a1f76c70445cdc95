"""The page: one self-contained HTML file that needs no network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from deeprotect.evaluation.intervals import Interval
from deeprotect.evaluation.noise import findings
from deeprotect.evaluation.promises import NAMES, PLAIN, promise
from deeprotect.evaluation.report.figures import Drawing, key
from deeprotect.evaluation.results import Results, Row


@dataclass(frozen=True)
class Group:
    """Drawings under one heading."""

    title: str
    text: str
    drawings: Sequence[Drawing]


@dataclass(frozen=True)
class Page:
    """What the page says besides the results: the story in plain words, the drawings, and how to read them."""

    title: str
    lead: str
    useful: str
    sensitive: str
    groups: Sequence[Group]
    reading: Sequence[str]

    def render(self, results: Results) -> str:
        environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        environment.filters |= {"accuracy": accuracy, "interval": interval, "number": number, "svg": _svg}
        template = environment.from_string(files(__package__).joinpath("page.html").read_text(encoding="utf-8"))
        return template.render(
            page=self,
            results=results,
            blocks=_blocks(results.rows),
            plain={row.guarantee: PLAIN[row.guarantee] for row in results.rows},
            findings=findings(results.noise) if results.noise else "",
            best=_best(results.rows, self.useful, self.sensitive),
            promises={row.guarantee: promise(row.guarantee, sensitive=[self.sensitive]) for row in results.rows},
        )


def accuracy(value: float | None) -> str:
    """Per cent, as people read it; a dash where there is none."""
    return "–" if value is None else f"{100 * value:.0f} %"


def interval(value: Interval) -> str:
    low, high = value
    return f"{100 * low:.0f}–{100 * high:.0f}"


def number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _svg(drawing: Drawing) -> Markup:
    return Markup(drawing.svg())  # our own drawing, and matplotlib escapes the labels in it  # noqa: S704


def _blocks(rows: Sequence[Row]) -> Sequence[Mapping[str, Any]]:
    """Rows of one mechanism and guarantee together."""
    names = dict.fromkeys(key(row) for row in rows)
    grouped = [[row for row in rows if key(row) == name] for name in names]
    return [{"name": block[0].mechanism, "what": NAMES[block[0].mechanism], "rows": block} for block in grouped]


def _best(rows: Sequence[Row], useful: str, sensitive: str) -> Row:
    """The row to lead with: of the strong guarantee, the most useful beyond what its attacker gains."""

    def worth(row: Row) -> float:
        attack = row.sensitive[sensitive]
        return row.useful[useful].app - max(0.0, attack.adaptive - attack.from_useful)

    strong = [row for row in rows if row.guarantee == "ldp"]
    return max(strong or rows, key=worth)
