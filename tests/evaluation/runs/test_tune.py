"""Tuning: one goal to a policy."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.evaluation import made_results

import deeprotect
from deeprotect import Policy, Protector
from deeprotect.errors import InputError
from deeprotect.evaluation.runs import tune as tuning
from deeprotect.evaluation.runs.tune import Goal, Tuned

POINTS = [(1.0, 2.0, 0.5), (2.0, 2.0, 0.7), (5.0, 2.0, 0.95), (5.0, 20.0, 0.9), (3.0, 20.0, 0.6)]
"""ε of a draw, its seconds, accuracy."""


@pytest.fixture(scope="module")
def longer(table: pa.Table) -> pa.Table:
    """Every recording twice, under two names."""
    again = pa.array([f"{name} again" for name in table["recording"].to_pylist()])
    return pa.concat_tables([table, table.set_column(0, "recording", again)])


@pytest.fixture(scope="module")
def tuned(longer: pa.Table, policy: Policy, tmp_path_factory: pytest.TempPathFactory) -> tuple[Tuned, Path]:
    out = tmp_path_factory.mktemp("tuned") / "out"
    return deeprotect.tune(policy, longer, accuracy=0.8, out=out, jobs=1), out


def points() -> list:
    row = made_results.row("channel", "ldp", 5.0, app=0.5, attack=0.1)
    return [
        replace(
            row,
            epsilon=epsilon,
            seconds_per_draw=seconds,
            useful={name: replace(each, app=app) for name, each in row.useful.items()},
        )
        for epsilon, seconds, app in POINTS
    ]


@pytest.mark.parametrize(
    ("goal", "chosen"),
    [
        (Goal(accuracy=0.9), (5.0, 20.0)),
        (Goal(accuracy=0.92), (5.0, 2.0)),
        (Goal(accuracy=0.55), (3.0, 20.0)),
        (Goal(accuracy=0.99), (5.0, 2.0)),  # out of reach: what comes nearest
        (Goal(epsilon_per_hour=1e6), (5.0, 2.0)),
    ],
)
def test_the_cheapest_that_is_read_well_enough_or_the_best_read_is_chosen(goal: Goal, chosen: tuple) -> None:
    row = goal.choose(points())
    assert (row.epsilon, row.seconds_per_draw) == chosen


def test_of_equally_cheap_policies_the_best_read_is_chosen() -> None:
    worse, better = points()[3], points()[2]
    same = [replace(worse, seconds_per_draw=2.0), better, replace(worse, seconds_per_draw=2.0)]
    assert Goal(accuracy=0.8).choose(same) is better
    cheap, dear = replace(better, epsilon=4.0), better
    assert Goal(accuracy=0.99).choose([dear, cheap]) is cheap  # out of reach, and as near


@pytest.mark.parametrize("guarantee", ["ldp", "rldp"])
def test_another_guarantee_than_was_asked_for_is_said_on_the_terminal_and_in_the_file(
    guarantee: str, policy: Policy, windows, tmp_path: Path
) -> None:
    row, asked = points()[2], policy.vary(privacy={"guarantee": guarantee})
    proposed = asked.vary(privacy={"guarantee": "ldp"})
    found = Tuned(proposed, asked.privacy.guarantee, Goal(accuracy=0.9), row, row, [row], 3)
    tuning._write(tmp_path, found, windows, seed=0)
    text = (tmp_path / "policy.toml").read_text()
    said = 'the policy asked for guarantee = "rldp"; tune compares guarantee = "ldp" only'
    assert (said in str(found)) == (said in text.replace("\n# ", " ")) == (guarantee == "rldp")
    assert Policy.load(tmp_path / "policy.toml") == proposed


@pytest.mark.parametrize(
    ("compared", "tested", "said"),
    [
        (
            0.7,
            0.92,
            "was reached on test recordings (0.920), but by no policy in the search (0.700 at most)",
        ),
        (0.85, 0.5, "was reached in the search (0.850), but not on test recordings"),
        (0.7, 0.5, "none of the tried policies reaches an accuracy of 80%"),
        (0.85, 0.9, ""),
    ],
)
def test_a_goal_that_two_sets_of_recordings_judge_differently_is_said_as_that(
    compared: float, tested: float, said: str, policy: Policy
) -> None:
    def row(app: float) -> Any:
        found = points()[0]
        useful = {name: replace(each, app=app, app_ci=(app, app)) for name, each in found.useful.items()}
        return replace(found, useful=useful)

    found = Tuned(policy, "ldp", Goal(accuracy=0.8), row(compared), row(tested), [], 3)
    assert said in found.shortfall
    assert bool(found.shortfall) != found.holds


def test_an_hour_pays_for_as_much_as_it_may_cost() -> None:
    goal = Goal(epsilon_per_hour=60.0)
    assert goal.epsilons((1.0, 2.0), 30.0) == [0.5]
    assert goal.epsilons((1.0, 2.0), 90.0) == [1.0, 1.5]
    assert goal.epsilons((1.0, 2.0), 1.0) == []
    assert Goal(accuracy=0.9).epsilons((1.0, 2.0), 1.0) == [1.0, 2.0]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"accuracy": 0.9, "epsilon_per_hour": 5.0},
        {"accuracy": 90.0},
        {"accuracy": float("nan")},
        {"epsilon_per_hour": -1.0},
        {"epsilon_per_hour": float("inf")},
    ],
)
def test_exactly_one_goal_that_makes_sense_is_asked_for(asked: dict, policy: Policy, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"accuracy|epsilon_per_hour"):
        deeprotect.tune(policy, "nothing.csv", out=tmp_path / "out", **asked)
    assert not (tmp_path / "out").exists()


def test_too_few_recordings_are_refused_with_the_fix(table: pa.Table, policy: Policy, tmp_path: Path) -> None:
    few = table.slice(0, 400)
    with pytest.raises(InputError, match=r"2 recordings; tune takes at least 9, .*cut long ones into pieces"):
        deeprotect.tune(policy, few, accuracy=0.9, out=tmp_path, jobs=1)


@pytest.mark.long
def test_everything_is_written_and_the_goal_is_met(tuned: tuple[Tuned, Path]) -> None:
    found, out = tuned
    assert found.holds, str(found)
    written = json.loads((out / "results.json").read_text())
    assert len(written["holds"]) == len(found.tried) > 20
    assert {row["window"] for row in written["holds"]} == {5, 10}  # half of five samples is too short
    assert {row["mechanism"] for row in written["holds"]} == {"channel", "laplace"}
    assert (out / "figures" / "tried-activity.svg").exists()
    assert "<svg" in (out / "report.html").read_text()
    assert Policy.load(out / "policy.toml") == found.policy


def test_the_choice_is_the_cheapest_of_what_was_tried(tuned: tuple[Tuned, Path]) -> None:
    found, _ = tuned
    enough = [row.epsilon_per_hour for row in found.tried if row.useful["activity"].app >= 0.8]
    assert found.chosen.epsilon_per_hour == min(enough)
    assert found.confirmed.epsilon_per_hour == pytest.approx(found.chosen.epsilon_per_hour)
    low, high = found.confirmed.useful["activity"].app_ci
    assert low < found.confirmed.useful["activity"].app < high or high == 1.0


def test_what_is_proposed_goes_through_train_and_protect_as_it_is(
    tuned: tuple[Tuned, Path], longer: pa.Table, tmp_path: Path
) -> None:
    found, out = tuned
    protector = Protector.train(out / "policy.toml", longer, quick=True)
    assert protector.mechanism == found.confirmed.mechanism
    assert protector.epsilon == found.confirmed.epsilon
    assert protector.protect(longer).rows == longer.num_rows


def test_test_recordings_are_not_seen_before_the_choice(
    longer: pa.Table, policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = []

    def measured(windows, rules, goal, *, seed):
        searched.append({int(number) for number in np.unique(windows.recording)})
        return []

    monkeypatch.setattr(tuning, "_measured", measured)
    with pytest.raises(InputError, match="pays for no draw"):
        deeprotect.tune(policy, longer, epsilon_per_hour=60, out=tmp_path, jobs=1)
    windows = tuning.read_windows(longer, policy)
    tested = set(tuning._recordings(windows, 0)[0].tolist())
    assert len(tested) == 6
    assert searched
    assert all(not numbers & tested for numbers in searched)


def test_limits_of_the_policy_are_kept(windows, policy: Policy) -> None:
    limited = policy.vary(
        inferences={"sensitive": []}, privacy={"guarantee": "ldp", "budget": {"per_hour": 3000.0, "per_day": 4000.0}}
    )
    found = list(tuning._candidates(windows, limited, Goal(accuracy=0.9)))
    assert found
    for setting in found:
        assert setting.epsilon * 3600 / setting.policy(limited).seconds_per_draw <= 3000
