import numpy as np

from deeprotect.training.codebook.codebook import Joint
from deeprotect.training.codebook.coder import SCORE_BITS
from deeprotect.training.labelled_windows import Targets


def test_a_joint_class_without_a_code_goes_to_the_one_that_agrees_most():
    rare = Targets(np.repeat([[0, 0], [1, 1], [1, 0]], [20, 10, 1], axis=0), (np.arange(2), np.arange(2)))
    assert decided(Joint.of(rare).coding((2, 2)), [[1, 0, 0, 1], [0, 1, 0, 1]]) == [0, 1]


def decided(coding, scores):
    """Codes of scores in nats."""
    return coding.decide(np.array(scores, dtype=np.float64).T * 2**SCORE_BITS).tolist()
