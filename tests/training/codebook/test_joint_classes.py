import numpy as np
import pytest

from deeprotect.errors import TableError
from deeprotect.policy import Policy
from deeprotect.training.codebook.codebook import Joint, read_targets
from deeprotect.training.codebook.coder import SCORE_BITS
from deeprotect.training.labelled_windows import LabelledWindows, Targets


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


@pytest.mark.parametrize("different", [20, 200])
def test_a_column_of_measurements_is_named_as_one_and_none_of_its_numbers_is_shown(different):
    values = [f"{71.5 + 0.25 * place}" for place in range(different)]
    labels = np.array(values, dtype=object)
    windows = LabelledWindows(np.zeros((different, 4, 1)), {"rate": labels}, np.zeros(different, dtype=np.int64), 0, "")
    policy = Policy.from_tables(
        {
            "version": 1,
            "stream": {"rate_hz": 10, "window": 4, "channels": {"acc_x": {"unit": "g", "range": [-4, 4]}}},
            "inferences": {"useful": ["rate"]},
            "privacy": {"epsilon": 5.0},
        }
    )
    with pytest.raises(TableError, match=rf"{different} different numbers.*\[inferences.numeric.rate\]") as error:
        read_targets(windows, policy)
    assert "71.5" not in str(error.value)
