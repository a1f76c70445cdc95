"""Sizes that shrink."""

from dataclasses import replace

from deeprotect.reproduction.size import FULL, QUICK


def test_the_quick_plan_is_smaller_in_everything():
    assert QUICK.owners <= FULL.owners
    for name in ("folds", "epochs", "windows", "transport", "utterances", "steps", "voices"):
        assert getattr(QUICK, name) < getattr(FULL, name)
    assert set(QUICK.epsilons) < set(FULL.epsilons)
    assert set(QUICK.features) < set(FULL.features)
    assert FULL.with_folds(None) == FULL
    assert FULL.with_folds(3) == replace(FULL, folds=3)
