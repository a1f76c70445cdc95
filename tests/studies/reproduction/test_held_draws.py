"""Held draws compared with the paper's numbers: statements follow the measurements."""

from dataclasses import replace

import pytest
from tests.studies.reproduction.conftest import made_up
from tests.studies.reproduction.test_paper_comparison import experiment, row

from deeprotect.evaluation.results import Results, Row
from deeprotect.signals import Hold
from studies.reproduction.case import CHANNEL, CaseExperiment
from studies.reproduction.case_page import CaseLayout
from studies.reproduction.case_result import CaseResult, ExperimentResult
from studies.reproduction.held_comparison import compare_holds
from studies.reproduction.owners import OTHER, OWNER, against_the_rest
from studies.reproduction.reproduce import CASES

__all__ = ["experiment"]


def held(app: float, together: float) -> Row:
    """A draw every ten seconds."""
    each = row("channel ldp", app, 0.5)
    useful = {"owner": replace(each.useful["owner"], held=together)}
    return replace(each, useful=useful, seconds_per_draw=10.0)


def result(experiment: CaseExperiment, app: float) -> ExperimentResult:
    each = replace(row("channel ldp", 0.8, 0.5), seconds_per_draw=1.0)
    return ExperimentResult(replace(experiment, every="10 s"), Results(rows=[each, held(app, 0.95)]))


@pytest.mark.parametrize(("app", "words"), [(0.9, "reads more"), (0.7, "reads less"), (0.81, "less than its interval")])
def test_a_held_draw_is_held_against_a_draw_for_each_window(experiment, app, words):
    (found,) = compare_holds(result(experiment, app))
    assert found.what == "a draw every 10 s at ε = 5, channel ldp"
    assert words in found.why
    assert "10 times fewer draws" in found.why
    assert "together 95.0 %" in found.ours
    assert "each window gives 80.0 %" in found.ours


def test_rows_of_one_mechanism_are_told_apart_by_their_hold(experiment):
    found = result(experiment, 0.9)
    assert [found.name(each) for each in found.rows] == ["channel ldp", "channel ldp, a draw every 10 s"]
    assert found.row("channel ldp", 5.0) is found.rows[0]
    assert found.row("channel ldp, a draw every 10 s", 5.0) is found.rows[1]


def test_held_draws_stand_on_the_page_and_are_in_no_picture_of_the_paper(experiment):
    layout = CaseLayout.of(CaseResult(CASES[0], [result(experiment, 0.9)]))
    assert [name for name, _ in layout.comparisons] == ["1c"]
    assert not layout.drawings


def test_every_promise_of_the_channel_is_measured_with_a_hold_and_without(experiment):
    settings = replace(experiment, every="10 s").settings([1.0, 2.0])
    assert {(each.method, each.epsilon, each.every) for each in settings} == {
        (method, 5.0, every) for method in CHANNEL for every in (None, "10 s")
    }


def test_others_are_drawn_in_whole_episodes():
    owned = against_the_rest(made_up(), person="person", owners=["p1"], seed=0, run=10)
    others = owned[owned.labels[OWNER] == OTHER]
    sizes = [int((others.episodes(Hold(10)) == each).sum()) for each in set(others.episodes(Hold(10)).tolist())]
    assert sorted(sizes)[1:] == [10] * (len(sizes) - 1)  # only the last run may have been cut short
