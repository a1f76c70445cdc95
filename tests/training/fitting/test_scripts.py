"""Protectors that learn scripts: trained, saved, verified, and read where they change."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.training.conftest import SPEED

from deeprotect import Policy, Protector
from deeprotect.bundle.card import card
from deeprotect.bundle.verification.verify import steps
from deeprotect.privacy.channel.scripts import Scripts
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.signals.windowing import run_lengths
from deeprotect.training.fitting.fit import learn
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.labelled_windows import read_windows

WINDOW = 8
SCRIPT = {"epsilon": 12.0, "guarantee": "ldp", "every": "8 s", "slots": "0.8 s"}  # ten slots of one window


def day(*, people=4, stays=12, seed=0) -> pa.Table:
    """Each person does one thing after another, for 4 to 16 windows each."""
    random, parts = np.random.default_rng(seed), []
    for person in range(people):
        for place in range(stays):
            activity = list(SPEED)[(place + person) % 3]
            rows = int(random.integers(4, 17)) * WINDOW
            phase, noise = np.arange(rows) * SPEED[activity] + random.uniform(0, 6), random.normal(0, 0.1, (2, rows))
            moving = SPEED[activity] > 0
            parts.append(
                {
                    "acc_x": moving * np.sin(phase) + 0.2 * person + noise[0],
                    "acc_y": SPEED[activity] * np.cos(phase) - 0.1 * person + noise[1],
                    "activity": np.full(rows, activity),
                    "person": np.full(rows, f"p{person}"),
                    "recording": np.full(rows, f"{person}"),
                }
            )
    return pa.table({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


@pytest.fixture(scope="module")
def policy(gym_policy) -> Policy:
    return gym_policy.vary(privacy=SCRIPT, inferences={"sensitive": []})


@pytest.fixture(scope="module")
def protector(policy) -> Protector:
    return Protector.train(policy, day())


def test_a_bundle_of_scripts_is_saved_verified_and_protects(protector, tmp_path):
    protector.save(tmp_path / "bundle")
    again = Protector.load(tmp_path / "bundle")
    assert again.bundle.manifest.version == 4
    assert not any(step.breaks for step in steps(again.bundle))
    assert again.bundle.mechanism.event.per == "episode"
    assert again.bundle.mechanism.scripts.slots == 10
    assert again.protect(day(seed=1)).table.num_rows == day(seed=1).num_rows


def test_as_many_changes_are_allowed_as_epsilon_pays_for(policy, protector):
    scripts = protector.bundle.mechanism.scripts
    assert scripts == Scripts.fitting(3, 10, changes=None, windows=1, epsilon=12.0)
    assert scripts.changes == 4
    models = FittedModels(read_windows(day(), policy))
    assert learn(models, policy.vary(privacy={"changes": 1})).mechanism.scripts.changes == 1


def test_a_script_is_read_better_than_a_label_that_is_held_as_long(policy):
    train, test = (read_windows(day(seed=seed), policy) for seed in (0, 1))
    models, read = FittedModels(train), {}
    for name, chosen in {"script": policy, "held": policy.vary(privacy={"slots": None})}.items():
        made, counts = learn(models, chosen), run_lengths(test.episodes(chosen.hold))
        codes = made.mechanism.output_of(made.release(test.flat, counts, entropy=SeededEntropy(0)).codes)
        read[name] = np.mean(np.array(made.made_of["codes"])[codes] == test.labels["activity"])
    assert read["script"] > 0.9 > 0.8 > read["held"]


def test_what_was_expected_in_training_is_what_others_read(policy):
    train, test = (read_windows(day(people=8, stays=20, seed=seed), policy) for seed in (0, 1))
    made = learn(FittedModels(train), policy)
    released = made.release(test.flat, run_lengths(test.episodes(policy.hold)), entropy=SeededEntropy(0))
    codes = np.array(made.made_of["codes"])[made.mechanism.output_of(released.codes)]
    assert made.made_of["expected_accuracy"] == pytest.approx(np.mean(codes == test.labels["activity"]), abs=0.06)


def test_recordings_that_are_shorter_than_a_script_can_be_learnt_from(gym_table, gym_policy):
    policy = gym_policy.vary(privacy={**SCRIPT, "every": "2 min", "slots": "8 s", "changes": 2})
    made = Protector.train(policy, gym_table)
    assert made.bundle.mechanism.event.guarantee == "ldp"
    assert made.protect(gym_table).table.num_rows == gym_table.num_rows


def test_the_card_says_what_a_script_is(protector):
    text = card(protector.bundle)
    assert "One draw is a script of an episode of 10 windows (8 seconds), in slots of 800 ms" in text
    assert "(3 labels, 10 slots, at most 4 changes)" in text


@pytest.mark.long
def test_costs_of_misreading_are_counted(policy):
    costs = {"activity": {"still": {"run": 0.5}}}
    made = learn(FittedModels(read_windows(day(), policy)), policy.vary(training={"cost_matrix": costs}))
    assert 0 < made.made_of["expected_cost"] < 1 - made.made_of["expected_accuracy"] + 1e-9
    assert replace(made.mechanism).expected_error() == pytest.approx(made.made_of["expected_cost"])
