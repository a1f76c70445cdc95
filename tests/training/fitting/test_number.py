"""A useful inference that is a number, from the table to the card: levels, errors in its unit, and what ε allows."""

import numpy as np
import pyarrow as pa
import pytest
from tests.strides import RULES, WIDTH, strides

from deeprotect.api import Protector
from deeprotect.bundle.card import card
from deeprotect.policy.policy import quick


@pytest.fixture(scope="module")
def protector() -> Protector:
    return Protector.train(quick(RULES), strides())


def test_a_release_of_a_number_is_much_nearer_than_the_median(protector):
    read = protector.bundle.manifest.results[0].useful["cadence"]
    median = read["error_median"]
    assert median * WIDTH > 20
    assert 0 < read["error_limit"] < median / 3
    assert 0 < read["error"] < 0.7 * median  # of some hundred draws, each of which is random
    assert 0 < read["error_coder"] < median / 3
    assert 0 < read["error_clean"] < median / 3


def test_codes_are_levels_and_the_channel_is_designed_for_distances(protector):
    mechanism, learnt = protector.bundle.mechanism, protector.bundle.manifest.feature_extractor
    assert set(mechanism.codes) <= set(RULES.inferences.numeric["cadence"].names)
    assert 0 < learnt.model_extra["expected_cost"] < 1 - learnt.model_extra["expected_accuracy"]


def test_the_card_says_errors_in_the_unit_and_no_share_of_levels_read_right(protector):
    found = card(protector.bundle)
    errors = protector.bundle.manifest.results[0].useful["cadence"]
    assert "“cadence” (useful), mean absolute error in “1/min”: app on raw windows " in found
    assert f"guessing the median {errors['error_median'] * WIDTH:.3g}, at best, by ε" in found
    assert "“cadence” is a number, in 6 levels over [60, 180] “1/min”; a misreading costs its distance." in found
    assert "accuracy" not in found.partition("## What can be read")[2].partition("##")[0]


def test_a_release_that_is_no_nearer_than_the_median_says_what_would_help():
    bundle = Protector.train(quick(RULES).vary(privacy={"epsilon": 0.1}), strides()).bundle
    assert "“cadence” is hardly nearer than the median after release: raise epsilon, or use fewer levels" in card(
        bundle
    )


def test_a_number_and_a_class_share_one_release():
    table = strides()
    pace = np.where(table["cadence"].to_numpy() > 120, "fast", "slow")
    rules = quick(RULES).vary(inferences={"useful": ["pace", "cadence"]})
    read = Protector.train(rules, table.append_column("pace", pa.array(pace))).bundle.manifest.results[0].useful
    assert read["pace"]["app"] > 0.7
    assert "error" not in read["pace"]
    assert read["cadence"]["error"] < read["cadence"]["error_median"]
    assert read["cadence"]["error_coder"] < read["cadence"]["error_median"]
