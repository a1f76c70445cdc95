"""The paper's numbers beside ours: no sentence may contradict what was measured."""

from dataclasses import replace

import pytest

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.evaluation.results import Confusion, Results, Row, Sensitive, Useful
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows
from studies.reproduction.case import CaseExperiment
from studies.reproduction.case_result import ExperimentResult
from studies.reproduction.feature_curves import CurvePoint
from studies.reproduction.paper_comparison import compare_with_paper


def points(default: float, paper: float, classical: float, *, raw: float, chance: float = 0.5) -> list[CurvePoint]:
    told = {"default": 0.2, "paper": 0.1}
    kinds = {"default": default, "paper": paper, "pca": classical, "dct": classical - 0.1}
    found = [
        CurvePoint(name, 7, share, (share - 0.01, share + 0.01), chance, (told.get(name, 0.05),) * 7)
        for name, share in kinds.items()
    ]
    return [*found, CurvePoint("raw", 30, raw, (raw - 0.01, raw + 0.01), chance)]


def row(line: str, app: float, attacker: float, *, chance: float = 0.5, width: float = 0.03) -> Row:
    mechanism, _, guarantee = line.partition(" ")
    useful = Useful(0.9, app, (app - width, app + width), app, None, chance)
    confusion = Confusion(("still", "stairs", "walk"), [[1, 0, 0]] * 3)
    ci = (attacker - width, attacker + width)
    sensitive = Sensitive(0.95, 0.5, attacker, ci, "ridge", {}, 0.5, 0.45, None, confusion=confusion)
    feature_extractor = {"paper": "paper", "channel": "code book", "baseline": "none"}.get(mechanism, "default")
    return Row(mechanism, guarantee or "ldp", 5.0, feature_extractor, {"owner": useful}, {"mode": sensitive}, "")


@pytest.fixture(scope="module")
def experiment() -> CaseExperiment:
    axes = {name: {"unit": "g", "range": [-2.0, 2.0]} for name in ("acc_x", "acc_y", "acc_z")}
    policy = Policy.from_tables(
        {
            "version": 1,
            "stream": {"rate_hz": 10.0, "window": 10, "channels": axes},
            "inferences": {"useful": ["owner"], "sensitive": ["mode"]},
            "privacy": {"epsilon": 5.0},
        }
    )
    nothing = LabelledWindows.__new__(LabelledWindows)
    return CaseExperiment("1c", "authentication", nothing, policy, SplitSpec())


def sentences(experiment: CaseExperiment, rows=(), found=()) -> str:
    return " ".join(
        line.why for line in compare_with_paper(ExperimentResult(experiment, Results(rows=list(rows)), found))
    )


def test_a_lead_is_only_claimed_beyond_the_interval(experiment):
    assert "ahead by a factor of 1.33" in sentences(experiment, found=points(0.8, 0.7, 0.6, raw=0.6))
    assert "within each other's interval" in sentences(experiment, found=points(0.601, 0.6, 0.6, raw=0.6))
    assert "behind" in sentences(experiment, found=points(0.5, 0.5, 0.6, raw=0.6))
    assert "as the paper finds" in sentences(experiment, found=points(0.8, 0.5, 0.3, raw=0.6, chance=0.1))


def test_the_floor_of_guessing_is_told_where_there_is_one(experiment):
    assert "guessing is right in 50.0 %" in sentences(experiment, found=points(0.8, 0.7, 0.6, raw=0.6))
    assert "guessing is right" not in sentences(experiment, found=points(0.8, 0.7, 0.3, raw=0.6, chance=0.03))


def test_the_papers_autoencoder_is_called_lower_only_where_it_is(experiment):
    assert "stays lower" in sentences(experiment, found=points(0.8, 0.7, 0.6, raw=0.9))
    assert "stays lower" not in sentences(experiment, found=points(0.7, 0.8, 0.6, raw=0.9))
    assert "keep 88.9 % of what all values give" in sentences(experiment, found=points(0.8, 0.7, 0.6, raw=0.9))


def test_the_papers_noise_is_called_guessing_only_where_it_is(experiment):
    rows = [row("baseline", 0.5, 0.5), row("laplace", 0.55, 0.5), row("channel ldp", 0.8, 0.5)]
    lost = sentences(experiment, [*rows, row("paper rldp", 0.51, 0.5)])
    assert "leaves guessing" in lost
    assert "is 16 in mode 1" in lost  # √7 · 30 / 5
    assert "1.6× as often right as the baseline" in lost
    assert "8× is out of reach" in lost
    assert "leaves guessing" not in sentences(experiment, [*rows, row("paper rldp", 0.75, 0.5)])


def test_what_an_attacker_gains_follows_its_interval(experiment):
    assert "gains nothing" in sentences(experiment, [row("channel ldp", 0.85, 0.51)])
    assert "still gains 10.0 points over 50.0 %" in sentences(experiment, [row("channel ldp", 0.85, 0.6)])


def test_the_papers_level_is_kept_missed_or_never_there(experiment):
    assert "keeps more than the paper's 80.0 %" in sentences(experiment, [row("channel ldp", 0.85, 0.5)])
    assert "falls 10 points short" in sentences(experiment, [row("channel ldp", 0.7, 0.5)])
    poor = row("channel ldp", 0.7, 0.5)
    poor = replace(poor, useful={"owner": replace(poor.useful["owner"], clean=0.72)})
    assert "below the paper's level on raw windows already (72.0 %)" in sentences(experiment, [poor])


def test_the_papers_chance_level_is_put_right(experiment):
    text = sentences(experiment, [row("channel ldp", 0.85, 0.5)])
    assert "1/20 is the chance for 20 people" in text
    assert "of these 3 classes" in text


def test_what_was_not_measured_is_not_spoken_of(experiment):
    assert compare_with_paper(ExperimentResult(experiment, Results(rows=[]))) == []
