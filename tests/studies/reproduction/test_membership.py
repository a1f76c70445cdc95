import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from tests.networks import affine
from tests.training.conftest import POLICY, gym

from deeprotect.errors import InputError
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import read_windows
from studies import cli as command
from studies.reproduction.membership import scores, trial
from studies.reproduction.membership.exposed import Exposed
from studies.reproduction.membership.guessing import REFERENCE, TOGETHER, attacks, likelihood_ratio
from studies.reproduction.membership.scores import Candidate
from studies.reproduction.membership.success import auc, balanced, guesses, measure, true_positives
from studies.reproduction.membership.trial import draw_members, judge, run

VALUES, PEOPLE, EACH = 6, 8, 20


@pytest.fixture(scope="module")
def candidates():
    """Eight people with windows of two classes, each about a place of their own."""
    random = np.random.default_rng(0)
    flat = 0.5 + random.normal(0, 0.1, (PEOPLE, 1, VALUES)) + random.normal(0, 0.05, (PEOPLE, EACH, VALUES))
    targets = np.arange(EACH) % 2
    return [Candidate(windows, targets, flat.mean(axis=(0, 1))) for windows in flat]


def bundle(candidates, **planted):
    """A bundle that says nothing about anybody, but for what is planted."""
    random = np.random.default_rng(1)
    silent = {
        "classes": ("still", "walk"),
        "coder": affine(np.zeros((VALUES, 2))),
        "mean": candidates[0].usual,
        "scale": np.full(VALUES, 0.1),
        "edges": np.linspace(-40, 40, 9)[:, None].repeat(8, axis=1),
        "outputs": random.uniform(0.3, 0.7, (2, 4, VALUES)),
        "channels": 2,
    }
    return Exposed(**(silent | planted))


def favoured(score, candidates, **planted):
    """The person with the highest score."""
    exposed = bundle(candidates, **planted)
    return int(np.argmax([score(exposed, each) for each in candidates]))


@pytest.mark.parametrize("score", [scores.nearness, scores.closest, scores.likeness])
def test_outputs_that_are_somebodys_windows_give_them_away(candidates, score):
    own = candidates[3]
    outputs = np.stack([own.flat[own.targets == code][:4] for code in (0, 1)])
    assert favoured(score, candidates, outputs=outputs) == 3


@pytest.mark.parametrize("score", [scores.loss, scores.confidence])
def test_a_coder_that_knows_somebody_gives_them_away(candidates, score):
    def knows(windows):
        sure = np.abs(windows[:, None] - candidates[5].flat).max(axis=2).min(axis=1) < 1e-5
        return 4.0 * sure[:, None] * np.eye(2)[np.arange(len(windows)) % 2]

    assert favoured(score, candidates, coder=knows) == 5


def test_a_mean_that_somebody_drew_towards_them_gives_them_away(candidates):
    own = candidates[2]
    drawn = own.usual + 0.1 * (own.flat.mean(axis=0) - own.usual)
    assert favoured(scores.mean_window, candidates, mean=drawn) == 2


def test_edges_that_are_somebodys_levels_give_them_away(candidates):
    own = bundle(candidates).levels(candidates[6].flat)
    edges = np.quantile(own, [0, 0.5, 1], axis=0)
    assert favoured(scores.in_range, candidates, edges=edges) == 6
    assert favoured(scores.ends, candidates, edges=np.quantile(own, [0.01, 0.99], axis=0)) == 6
    assert favoured(scores.exact_edges, candidates, edges=edges) == 6


def test_the_area_under_the_curve_is_the_usual_one_with_ties_too():
    random = np.random.default_rng(0)
    for digits in (0, 1, 5):
        statistic, members = random.normal(size=(6, 9)).round(digits), random.uniform(size=(6, 9)) < 0.4
        assert auc(statistic, members) == pytest.approx(roc_auc_score(members.ravel(), statistic.ravel()))


def test_a_perfect_attack_is_found_and_a_blind_one_is_not():
    members, random = draw_members(20, 10, seed=0), np.random.default_rng(0)
    perfect = measure("perfect", members + 0.1 * random.uniform(size=members.shape), members)
    assert (perfect.auc, perfect.balanced_accuracy, perfect.true_positives) == (1.0, 1.0, 1.0)
    blind = measure("blind", random.normal(size=members.shape), members)
    assert blind.auc_interval[0] < 0.5 < blind.auc_interval[1]
    assert blind.true_positives < 0.2


def test_few_true_positives_are_counted_at_few_false_ones():
    members = np.arange(200) < 100
    statistic = np.where(members, np.arange(200) % 10 == 0, 0.0) + np.linspace(0, 0.1, 200)
    assert true_positives(statistic[None], members[None]) == pytest.approx(0.1)


def test_a_guess_about_a_bundle_does_not_know_its_members():
    random, members = np.random.default_rng(0), draw_members(12, 6, seed=1)
    statistic, other = random.normal(size=members.shape), members.copy()
    other[2] = ~other[2]
    assert np.array_equal(guesses(statistic, members)[2], guesses(statistic, other)[2])
    for name, each in attacks({"a": statistic, "b": statistic**2}, members).items():
        assert np.array_equal(each[2], attacks({"a": statistic, "b": statistic**2}, other)[name][2]), name


def test_other_bundles_tell_what_is_usual_for_a_person():
    """People differ by far more than taking part does: no threshold for all can see it."""
    members, random = draw_members(30, 10, seed=0), np.random.default_rng(0)
    scored = random.normal(0, 10, 30) + members + random.normal(0, 0.3, members.shape)
    found = attacks({"score": scored}, members)
    assert auc(found["score"], members) < 0.65
    assert auc(found["score" + REFERENCE], members) > 0.9


def test_scores_that_tell_little_alone_tell_more_together():
    members, random = draw_members(30, 10, seed=0), np.random.default_rng(0)
    scored = {name: members + random.normal(0, 2, members.shape) for name in "abcdef"}
    found = attacks(scored, members)
    assert auc(found[TOGETHER], members) > max(auc(found[name], members) for name in scored) + 0.05


def test_where_there_is_nothing_to_find_likelihood_ratios_find_nothing():
    random, found = np.random.default_rng(0), []
    for seed in range(60):
        members = draw_members(20, 10, seed=seed)
        found.append(auc(likelihood_ratio(random.normal(size=members.shape), members), members))
    assert abs(np.mean(found) - 0.5) < 0.025


def test_the_strongest_attack_by_chance_is_stated_beside_the_strongest():
    members, random = draw_members(12, 6, seed=0), np.random.default_rng(0)
    found = judge("own", {name: random.normal(size=members.shape) for name in "abcd"}, members)
    assert [each.auc for each in found.successes] == sorted((each.auc for each in found.successes), reverse=True)
    assert 0.5 < found.chance[0] < found.chance[1] < 1
    assert found.successes[0].auc < found.chance[1] + 0.1


def test_half_of_the_people_are_in_each_bundle_and_too_few_are_refused():
    assert (draw_members(9, 10, seed=0).sum(axis=1) == 4).all()
    with pytest.raises(InputError, match="3 people and 10 bundles"):
        draw_members(3, 10, seed=0)


def test_half_right_is_what_a_constant_guess_gives():
    members = draw_members(10, 4, seed=0)
    assert balanced(np.ones_like(members), members) == 0.5


@pytest.fixture(scope="module")
def small():
    privacy = {"guarantee": "ldp", "epsilon": 2.0}
    policy = Policy.from_tables(POLICY).vary(privacy=privacy, training={"max_epochs": 1})
    return run(read_windows(gym(people=4, seconds=12), policy), policy, bundles=4)


@pytest.mark.long
def test_bundles_are_trained_and_attacked_in_both_settings(small):
    assert [each.setting for each in small] == list(trial.SETTINGS)
    for each in small:
        assert len(each.successes) == 2 * len(scores.SCORES) + 2
        assert all(0 <= success.auc <= 1 for success in each.successes)


def test_the_command_writes_what_was_found(small, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(trial, "run", lambda *_, **__: small)
    command.membership(tmp_path / "found.json", study="watch-exercise")
    body = json.loads((tmp_path / "found.json").read_text())
    assert body["study"] == "watch-exercise"
    assert [each["setting"] for each in body["settings"]] == list(trial.SETTINGS)
    assert "own windows; the strongest by chance" in capsys.readouterr().out
