"""Hiding who took part: noise is as large as one person's share, and a mean without noise reads best."""

import math

import numpy as np

from studies.reproduction.membership.participants import accuracy, class_means, private_means


def test_nobody_moves_the_mean_by_more_than_noise_is_scaled_to():
    rng = np.random.default_rng(0)
    means = rng.normal(size=(9, 3, 4))
    means[4] *= 100.0
    whole = private_means(means, epsilon=math.inf, rng=rng)
    clip = np.median(np.linalg.norm(means.reshape(9, -1), axis=1))
    assert np.linalg.norm(whole) <= clip
    noisy = [private_means(means, epsilon=1.0, rng=rng) - whole for _ in range(400)]
    assert np.std(noisy) > clip * 2 / 9 * math.sqrt(2 * math.log(1250)) * 0.9


def test_class_means_are_each_persons_own_and_read_their_classes():
    found, classes, people = np.array([[1.0], [3.0], [-1.0]]), np.array([0, 0, 1]), np.array([0, 0, 1])
    means = class_means(found, classes, people)
    assert means.tolist() == [[[2.0], [0.0]], [[0.0], [-1.0]]]
    assert accuracy(np.array([[2.0], [-1.0]]), found, classes) == 1.0
