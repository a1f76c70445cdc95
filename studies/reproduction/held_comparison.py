"""Draws that are held, beside the paper's numbers: what the app reads then, and what an hour costs."""

from collections.abc import Iterator

from deeprotect.evaluation.results import Row, Useful
from studies.reproduction.case import SHOWN_EPSILON
from studies.reproduction.case_result import ExperimentResult
from studies.reproduction.paper_comparison import PaperComparison, share

STATED = "not in the paper: it draws for every window"


def compare_holds(result: ExperimentResult) -> Iterator[PaperComparison]:
    """Each promise with a draw that is held against a draw for each window, on the same tested windows."""
    useful = result.experiment.useful
    for held in (row for row in result.rows if row.useful[useful].held is not None):
        each = result.row(held.line, SHOWN_EPSILON)
        if each is not None:
            yield _compared(result, each, held)


def _compared(result: ExperimentResult, each: Row, held: Row) -> PaperComparison:
    useful, sensitive = result.experiment.useful, result.experiment.sensitive
    app, attack = held.useful[useful], held.sensitive[sensitive]
    spread = f", {share(min(app.by_person))} to {share(max(app.by_person))} of one" if result.experiment.person else ""
    ours = (
        f"{useful} {share(app.app)}{spread} (all windows of a draw together {share(app.held or 0.0)}) where a draw "
        f"for each window gives {share(each.useful[useful].app)} and raw windows {share(app.clean)}; "
        f"against {sensitive} {share(attack.adaptive)} "
        f"(raw {share(attack.raw)}, told only {useful} {share(attack.from_useful)})"
    )
    what = f"a draw every {held.seconds_per_draw:g} s at ε = {held.epsilon:g}, {held.line}"
    return PaperComparison(what, STATED, ours, " ".join(_why(each, held, useful)))


def _why(each: Row, held: Row, useful: str) -> Iterator[str]:
    draws = (held.seconds_per_draw or 1.0) / (each.seconds_per_draw or 1.0)
    yield f"{draws:g} times fewer draws, so as many times less ε in an hour;"
    yield _difference(each.useful[useful], held.useful[useful])
    yield "Windows between two labels are part of an episode, and only labelled ones are counted."


def _difference(each: Useful, held: Useful) -> str:
    if held.app > each.app_ci[1]:
        return "and the app reads more, because the coder sees all windows of an episode."
    if held.app < each.app_ci[0]:
        return "the app reads less."
    return "what the app reads differs by less than its interval."
