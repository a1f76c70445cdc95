"""What sensitivities are made of: the paper's bound, and all sign vectors."""

import numpy as np
import pytest

from deeprotect.privacy.mechanisms.relaxed import Maximum, paper_l1, sign_vectors


def test_the_papers_bound_for_seven_features_of_thirty_samples():
    assert paper_l1(7, 30) == pytest.approx(79.37, abs=0.01)


def test_sign_vectors_are_all_there_once_up_to_sign():
    signs = np.concatenate(list(sign_vectors(4)))
    both = {tuple(row) for row in signs} | {tuple(-row) for row in signs}
    assert len(signs) == 8
    assert len(both) == 16


def test_many_sign_vectors_come_in_chunks():
    assert sum(len(chunk) for chunk in sign_vectors(17)) == 2**16


def test_a_maximum_says_whether_it_is_exact():
    assert "exact" in str(Maximum(3.0, exact=True, method="one direction"))
    assert "upper bound" in str(Maximum(3.0, exact=False, method="row by row"))
