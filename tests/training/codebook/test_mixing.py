"""Mixing windows: weights, people, shares and distances."""

from contextlib import ExitStack
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deeprotect.training.codebook import mixing as distances
from deeprotect.training.codebook.mixing import (
    FEWEST_PEOPLE,
    LARGEST_SHARE,
    MIXED,
    Material,
    draw_weights,
    typical_gap,
)
from studies.reproduction.membership import scores
from studies.reproduction.membership.scores import nearest


@given(st.integers(2, 13), st.floats(0, 2), st.integers(0, 100))
def test_no_window_of_a_mixture_counts_for_much_more_than_another(count, texture, seed):
    (weights,) = draw_weights(count, np.array([texture]), random=np.random.default_rng(seed))
    heavy = weights[weights > 1 / count]
    assert weights.sum() == pytest.approx(1)
    assert heavy.size == 0 or np.ptp(heavy) < 1e-9
    assert weights.max() <= 1 / count + texture * np.sqrt(2 / count) + 1e-9


@given(st.lists(st.integers(1, 30), min_size=2, max_size=20), st.integers(0, 1000))
def test_people_and_shares_of_a_mixture_are_what_they_are_said_to_be(sizes, seed):
    random = np.random.default_rng(seed)
    people = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    material = Material.of(random.uniform(size=(len(people), 3, 1)), np.arange(len(people)), people)
    rows = np.arange(len(material.members))
    anchors = random.choice(rows, 5)
    mixtures = material.mixtures(anchors, rows, textures=random.uniform(0, 2, 5), random=np.random.default_rng(seed))
    near = material._neighbours(anchors, rows, material._scaled)
    groups = material.groups[near]
    assert mixtures.people.tolist() == [len(set(row)) for row in groups]
    assert all(np.bincount(row).max() <= len(row) / 2 for row in groups if len(row) > 2)
    assert near.shape[1] <= MIXED


@settings(max_examples=50)
@example([3, 3], 0)
@given(st.lists(st.integers(2, 30), min_size=2, max_size=20), st.integers(0, 1000))
def test_whatever_people_a_class_has_some_mixtures_of_them_can_be_released(sizes, seed):
    random = np.random.default_rng(seed)
    people = np.repeat(np.arange(len(sizes)), sizes)
    material = Material.of(random.uniform(size=(len(people), 3, 1)), np.arange(len(people)), people)
    anchors, rows = random.integers(0, len(people), 60), np.arange(len(people))
    drawn = material.mixtures(anchors, rows, textures=np.full(60, 1.25), random=random)
    chosen = drawn[material.releasable(drawn, margin=0.0)]
    assert len(chosen) > 0
    assert chosen.people.min() >= min(FEWEST_PEOPLE, len(sizes))
    assert chosen.share.max() <= LARGEST_SHARE + 1e-9


@settings(max_examples=25)
@given(st.integers(0, 1000))
def test_a_mixture_takes_one_window_from_each_of_as_many_people_as_there_are(seed):
    random = np.random.default_rng(seed)
    samples, people = random.uniform(size=(60, 3, 1)), np.repeat(np.arange(15), 4)
    material = Material.of(samples, np.arange(60), people)
    near = material._neighbours(random.integers(0, 60, 5), np.arange(60), material._scaled)
    assert all(len(set(people[row])) == len(row) == 12 for row in near)


@settings(max_examples=25)
@given(st.integers(0, 1000))
def test_distances_taken_by_chunks_are_the_plain_ones(seed):
    random = np.random.default_rng(seed)
    left, right, people = random.uniform(size=(40, 6)), random.uniform(size=(30, 6)), random.integers(0, 3, 40)
    people[:2] = 0, 1
    patches = ((distances, "CHUNK", 7), (scores, "CHUNK", 7), (distances, "CELLS", 5 * 40))
    with ExitStack() as stack:
        for each in patches:
            stack.enter_context(mock.patch.object(*each))
        near, gap = nearest(left, right), typical_gap(left, np.arange(40), people=people)
    np.testing.assert_allclose(near, np.linalg.norm(left[:, None] - right, axis=2).min(axis=1))
    between = np.linalg.norm(left[:, None] - left, axis=2)
    between[people[:, None] == people] = np.inf
    assert gap == pytest.approx(np.median(between.min(axis=1)))


def test_of_very_many_windows_a_few_from_first_to_last_stand_for_all():
    places = np.arange(200.0)[:, None]
    windows, people = np.concatenate([places, places + places / 10]), np.repeat([0, 1], 200)
    whole = typical_gap(windows, np.arange(200), people=people)
    with mock.patch.object(distances, "MEMBERS", 21):
        some = typical_gap(windows, np.arange(200), people=people)
    assert some == pytest.approx(whole, rel=0.1)
