"""What was found on a case study, ready to be told."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from deeprotect.evaluation.results import Results, Row
from deeprotect.reproduction.case import Case, Part
from deeprotect.reproduction.feature_curves import Point
from deeprotect.reproduction.listening import Sample


@dataclass(frozen=True)
class Outcome:
    """One experiment: its rows, and its feature curves where it has them."""

    part: Part
    results: Results
    points: Sequence[Point] = ()

    @property
    def rows(self) -> Sequence[Row]:
        return self.results.rows

    def row(self, line: str, epsilon: float) -> Row | None:
        """The row of a mechanism at the measured ε nearest to this one."""
        own = [row for row in self.rows if row.line == line and row.epsilon is not None]
        return min(own, key=lambda row: abs((row.epsilon or 0.0) - epsilon), default=None)

    def to_json(self) -> dict[str, Any]:
        points = Results(rows=[], run={"features": [vars(point) for point in self.points]}).to_json()
        return {"case": self.part.name, "title": self.part.title, **self.results.to_json(), **points["run"]}


@dataclass(frozen=True)
class Chapter:
    """A case study with its outcomes; `seconds` say where the time went, over all processes."""

    case: Case
    outcomes: Sequence[Outcome]
    samples: Sequence[Sample] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def left_out(self) -> Iterator[str]:
        for outcome in self.outcomes:
            for line in dict.fromkeys(outcome.results.left_out):
                yield f"{outcome.part.name}: {line}"
