"""Rare or lost classes are each reported; and costs make them count."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

import deeprotect
from deeprotect import Protector
from deeprotect.bundle.card import card, card_of, card_page, constant
from deeprotect.errors import TableError
from deeprotect.training.codebook.codebook import coded_classes
from deeprotect.training.fitting.trained import balanced
from deeprotect.training.labelled_windows import read_windows

WINDOW = 8


@pytest.fixture(scope="module")
def falls():
    """Windows of walking; one in sixty is a fall, which anyone can see."""
    random, parts = np.random.default_rng(0), []
    for number in range(20):
        rows = 90 * WINDOW
        label, bump = np.full(rows, "no", dtype=object), np.zeros(rows)
        if number % 10 != 9:
            start = WINDOW * (20 + number)
            label[start : start + 2 * WINDOW], bump[start : start + 2 * WINDOW] = "yes", 2.0
        walk = 0.5 * np.sin(np.arange(rows) * 0.9) + random.normal(0, 0.1, rows)
        names = {"recording": np.full(rows, f"r{number}"), "person": np.full(rows, f"p{number % 5}")}
        parts.append(names | {"fall": label, "acc_x": walk + bump, "acc_y": -walk})
    return pa.table({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


@pytest.fixture(scope="module")
def rules(gym_policy):
    inferences = {"useful": ["fall"], "sensitive": []}
    return gym_policy.vary(
        inferences=inferences, privacy={"epsilon": 3.0}, training={"max_epochs": 6, "people": "person"}
    )


@pytest.fixture(scope="module")
def plain(rules, falls):
    return Protector.train(rules, falls).bundle


def test_a_release_that_is_always_the_same_is_said(plain):
    said = "Every window leaves as “no”: an app learns nothing from this release"
    assert plain.mechanism.only_output == 0
    assert said in constant(plain)
    assert said in card(plain)
    assert "its classes are unbalanced; give [training.cost_matrix]" in card(plain)


def test_each_class_is_measured_for_itself(plain):
    (result,) = plain.manifest.results
    no, yes = result.classes["fall"]
    assert (no.name, no.app, yes.name, yes.app) == ("no", 1.0, "yes", 0.0)
    assert yes.clean > 0.8
    assert 8 <= yes.learnt < 30 < no.learnt
    assert result.useful["fall"]["app"] > 0.95  # which says nothing
    assert result.useful["fall"]["app_balanced"] == 0.5


def test_with_costs_by_which_a_class_counts_a_rare_one_is_read(rules, falls):
    costs = {"fall": {"no": {"yes": 0.02}}}
    bundle = Protector.train(rules.vary(training={"cost_matrix": costs}), falls).bundle
    (result,) = bundle.manifest.results
    assert constant(bundle) == ""
    assert result.classes["fall"][1].app > 0.8
    assert result.useful["fall"]["app_balanced"] > 0.8
    assert "hardly better than chance" not in card(bundle)


def test_a_card_page_has_no_empty_bullets(plain):
    page = card_page(plain)
    assert "<li></li>" not in page
    assert "<li><ul>" not in page
    assert any(line.startswith("  ") for section in card_of(plain).sections for line in section.lines)


def with_third(falls, *, person):
    """A third class, of four windows, shown by one person or by two."""
    labels, who = np.array(falls["fall"].to_pylist(), dtype=object), np.array(falls["person"].to_pylist())
    for name in person:
        start = int(np.flatnonzero(who == name)[0])
        labels[start : start + 4 * WINDOW // len(person)] = "trip"
    return falls.set_column(falls.column_names.index("fall"), "fall", pa.array(labels))


def test_a_class_with_too_few_windows_for_a_code_is_named(rules, falls):
    windows = read_windows(with_third(falls, person=["p0", "p1"]), rules)
    assert coded_classes(windows, rules) == {"fall": ["no", "yes"]}
    assert not windows.may_be_people("fall")


def test_classes_that_one_person_alone_shows_have_no_names(rules, falls):
    windows = read_windows(with_third(falls, person=["p0"]), rules)
    assert windows.may_be_people("fall")


def test_without_people_a_column_named_like_them_has_no_names(gym_windows):
    assert gym_windows.may_be_people("person")
    assert not gym_windows.may_be_people("activity")
    unknown = dataclasses.replace(gym_windows, person=None)
    assert unknown.may_be_people("person")
    assert not unknown.may_be_people("activity")


def test_where_no_two_classes_have_a_code_each_is_said_with_its_windows(rules, falls):
    labels = np.full(falls.num_rows, "no", dtype=object)
    labels[: 4 * WINDOW] = "yes"
    few = falls.set_column(falls.column_names.index("fall"), "fall", pa.array(labels))
    with pytest.raises(TableError, match=r"a class needs 8 windows to learn from, .*'yes': "):
        Protector.train(rules, few)


def test_balanced_accuracy_counts_classes():
    truth = np.array(["a"] * 98 + ["b"] * 2)
    assert balanced(truth, np.full(100, "a")) == 0.5
    assert balanced(truth, truth) == 1.0


@pytest.mark.parametrize("rare", [True, False])
def test_init_writes_costs_where_classes_are_unbalanced_and_says_so(falls, rare, gym_table, tmp_path):
    table, label = (falls, "fall") if rare else (gym_table, "activity")
    made = deeprotect.init(table, useful=label, rate_hz=10, window=WINDOW, out=tmp_path / "policy.toml")
    costs = made.policy.training.cost_matrix
    assert (
        bool(costs) == rare == any("[training.cost_matrix] gives all classes the same weight" in n for n in made.notes)
    )
    if rare:
        assert costs == {"fall": {"no": {"yes": pytest.approx(36 / (1800 - 36), abs=2e-3)}}}
        assert deeprotect.Policy.load(tmp_path / "policy.toml").training.cost_matrix == costs
