"""The results of a case study, ready to print."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deeprotect.evaluation.results import Results, Row
from studies.reproduction.case import Case, CaseExperiment
from studies.reproduction.feature_curves import CurvePoint
from studies.reproduction.listening import SpeechSample


@dataclass(frozen=True)
class ExperimentResult:
    """Rows, feature curves and sounds where there are some; `seconds` say where the time went, over all processes."""

    experiment: CaseExperiment
    results: Results
    points: Sequence[CurvePoint] = ()
    samples: Sequence[SpeechSample] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def rows(self) -> Sequence[Row]:
        return self.results.rows

    def row(self, name: str, epsilon: float) -> Row | None:
        """The row of a mechanism at the measured ε nearest to this one."""
        own = [row for row in self.rows if self.name(row) == name and row.epsilon is not None]
        return min(own, key=lambda row: abs((row.epsilon or 0.0) - epsilon), default=None)

    def name(self, row: Row) -> str:
        """Its mechanism, and for how long a draw is held where it is."""
        held = row.useful[self.experiment.useful].held is not None
        return f"{row.line}, a draw every {row.seconds_per_draw:g} s" if held else row.line

    def to_json(self) -> dict[str, Any]:
        points = Results(rows=[], run={"features": [vars(point) for point in self.points]}).to_json()
        return {"case": self.experiment.name, "title": self.experiment.title, **self.results.to_json(), **points["run"]}


@dataclass(frozen=True)
class CaseResult:
    """A case study with the results of its experiments."""

    case: Case
    experiments: Sequence[ExperimentResult]

    @property
    def samples(self) -> list[SpeechSample]:
        return [sample for result in self.experiments for sample in result.samples]

    @property
    def left_out(self) -> Iterator[str]:
        for result in self.experiments:
            for line in dict.fromkeys(result.results.left_out):
                yield f"{result.experiment.name}: {line}"
