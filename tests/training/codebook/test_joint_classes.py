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


def test_a_level_without_a_code_goes_to_the_nearest_and_not_to_the_most_frequent():
    """The levels are 100, 20, 60 and 80, in the order of their names; 60 is too rare."""
    codes = np.repeat([0, 1, 2, 3], [40, 20, 2, 10])[:, None]
    classes = (np.array(["100", "20", "60", "80"]),)
    levels = Targets(codes, classes, (classes[0].astype(float),))
    scores = [[0, 0, 1, 0], [0, 1, 0, 0]]
    assert [Joint.of(levels).names[code] for code in decided(Joint.of(levels).coding((4,)), scores)] == ["80", "20"]
    plain = Joint.of(Targets(codes, classes))
    assert plain.names[decided(plain.coding((4,)), scores)[0]] == "100"
