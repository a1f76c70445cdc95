"""Wilson intervals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from deeprotect.evaluation.intervals import wilson


@given(st.integers(1, 5000), st.floats(0, 1))
def test_interval_is_wilsons(total: int, share: float) -> None:
    correct = round(share * total)
    reference = binomtest(correct, total).proportion_ci(0.95, method="wilson")
    assert wilson(correct, total) == pytest.approx((reference.low, reference.high), abs=1e-9)


@given(st.integers(1, 5000), st.floats(0, 1))
def test_interval_holds_the_share_and_stays_a_share(total: int, share: float) -> None:
    correct = round(share * total)
    low, high = wilson(correct, total)
    assert 0 <= low <= correct / total <= high <= 1
    assert low < high


def test_more_windows_make_the_interval_narrower() -> None:
    few, many = wilson(30, 100), wilson(300, 1000)
    assert many[1] - many[0] < few[1] - few[0]


def test_no_windows_have_no_interval() -> None:
    with pytest.raises(ValueError, match="no share"):
        wilson(0, 0)
