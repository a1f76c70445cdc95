"""The page of a reproduction: one self-contained file, with links to the sounds in its folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deeprotect.evaluation.report.drawing import Drawing
from deeprotect.evaluation.report.page import template
from studies.reproduction import case_figures as drawings
from studies.reproduction import listening
from studies.reproduction.case import SHOWN_EPSILON
from studies.reproduction.case_result import CaseResult, ExperimentResult
from studies.reproduction.held_comparison import compare_holds
from studies.reproduction.paper_comparison import PaperComparison, compare_with_paper


@dataclass(frozen=True)
class CaseLayout:
    """How a case study stands on the page: its result, its drawings, and the paper's numbers beside its own."""

    result: CaseResult
    drawings: Sequence[Drawing]
    comparisons: Sequence[tuple[str, PaperComparison]]

    @classmethod
    def of(cls, result: CaseResult) -> "CaseLayout":
        drawn = [drawing for each in result.experiments for drawing in _drawings(each)]
        lines = [
            (each.experiment.name, line)
            for each in result.experiments
            for line in (*compare_with_paper(each), *compare_holds(each))
        ]
        return cls(result, drawn, lines)

    @property
    def facts(self) -> list[str]:
        """Each once, though experiments share some."""
        return list(dict.fromkeys(fact for each in self.result.experiments for fact in each.experiment.facts))

    @property
    def ways(self) -> list[str]:
        return listening.ways(self.result.samples)


def _drawings(result: ExperimentResult) -> list[Drawing]:
    """The paper's order: features, what they tell, mechanisms, the trade-off."""
    experiment, drawn = result.experiment, []
    if result.points:
        drawn.append(drawings.accuracy_of_features(experiment.name, result.points, experiment.useful))
    if any(point.informativeness for point in result.points):
        drawn.append(drawings.informativeness_of_features(experiment.name, result.points, experiment.useful))
    if any(row.line == "laplace" for row in result.rows):
        drawn.append(drawings.useful_of_mechanisms(experiment.name, result.rows, experiment.useful))
    if result.rows and experiment.every is None:
        drawn.append(
            drawings.trade_off(experiment.name, result.rows, experiment.useful, sensitive=experiment.sensitive)
        )
    return drawn


def render(
    layouts: Sequence[CaseLayout], *, missing: Sequence[str], caps: Sequence[str], run: Mapping[str, Any]
) -> str:
    page = template(__package__, "cases.html")
    return page.render(layouts=layouts, missing=missing, caps=caps, run=run, epsilon=SHOWN_EPSILON)
