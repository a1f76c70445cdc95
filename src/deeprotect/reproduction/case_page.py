"""The page of a reproduction: one self-contained file, with links to the sounds beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deeprotect.evaluation.report.figures import Drawing
from deeprotect.evaluation.report.page import template
from deeprotect.reproduction import case_figures as drawings
from deeprotect.reproduction import listening
from deeprotect.reproduction.case import SHOWN_EPSILON
from deeprotect.reproduction.case_result import Chapter, Outcome
from deeprotect.reproduction.paper_comparison import Beside, beside


@dataclass(frozen=True)
class Story:
    """A chapter with its drawings and the paper's numbers beside its own."""

    chapter: Chapter
    drawings: Sequence[Drawing]
    beside: Sequence[tuple[str, Beside]]

    @classmethod
    def of(cls, chapter: Chapter) -> "Story":
        drawn = [drawing for outcome in chapter.outcomes for drawing in _drawings(outcome)]
        lines = [(outcome.part.name, line) for outcome in chapter.outcomes for line in beside(outcome)]
        return cls(chapter, drawn, lines)

    @property
    def facts(self) -> list[str]:
        """Each once, though parts share some."""
        return list(dict.fromkeys(fact for outcome in self.chapter.outcomes for fact in outcome.part.facts))

    @property
    def ways(self) -> list[str]:
        return listening.ways(self.chapter.samples)


def _drawings(outcome: Outcome) -> list[Drawing]:
    """The paper's order: features, what they tell, mechanisms, the trade-off."""
    part, drawn = outcome.part, []
    if outcome.points:
        drawn.append(drawings.accuracy_of_features(part.name, outcome.points, part.useful))
    if any(point.informativeness for point in outcome.points):
        drawn.append(drawings.told_by_features(part.name, outcome.points, part.useful))
    if any(row.line == "laplace" for row in outcome.rows):
        drawn.append(drawings.useful_of_mechanisms(part.name, outcome.rows, part.useful))
    if outcome.rows:
        drawn.append(drawings.trade_off(part.name, outcome.rows, part.useful, sensitive=part.sensitive))
    return drawn


def render(stories: Sequence[Story], *, missing: Sequence[str], caps: Sequence[str], run: Mapping[str, Any]) -> str:
    page = template(__package__, "cases.html")
    return page.render(stories=stories, missing=missing, caps=caps, run=run, epsilon=SHOWN_EPSILON)
