"""Labels: any kind of column, several at once, some missing."""

import numpy as np
import pytest

from deeprotect.errors import InputError
from deeprotect.training.labelled_windows import MISSING, Targets


def test_without_labels_there_is_nothing_to_learn() -> None:
    targets = Targets.read(None, 3)
    assert targets.codes.shape == (3, 0)
    assert targets.signs().shape == (3, 0)


@pytest.mark.parametrize("missing", [None, float("nan"), np.datetime64("NaT")])
def test_a_missing_label_is_missing_in_every_spelling(missing: object) -> None:
    targets = Targets.read(["walk", missing, "sit"], 3)
    assert targets.codes[:, 0].tolist() == [1, MISSING, 0]


def test_pandas_missing_values_are_missing() -> None:
    pandas = pytest.importorskip("pandas")
    column = pandas.array([3, None, 1], dtype="Int64")
    assert Targets.read(column, 3).codes[:, 0].tolist() == [1, MISSING, 0]


def test_each_inference_has_its_own_block_of_signs() -> None:
    labels = np.array([["a", 1], ["b", None], [None, 2]], dtype=object)
    signs = Targets.read(labels, 3).signs()
    assert signs.tolist() == [[1, -1, 1, -1], [-1, 1, 0, 0], [0, 0, -1, 1]]


def test_an_inference_with_a_single_class_is_left_out() -> None:
    labels = np.array([["a", 1], ["a", 2]], dtype=object)
    assert Targets.read(labels, 2).counts == (2,)


def test_a_column_of_mixed_types_is_refused_with_the_types() -> None:
    with pytest.raises(InputError, match="int, str"):
        Targets.read(["a", 1], 2)


def test_labels_of_another_length_are_refused() -> None:
    with pytest.raises(InputError, match="2 rows"):
        Targets.read(["a", "b"], 3)
