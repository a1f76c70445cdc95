"""Sizes that shrink."""

from dataclasses import replace

from studies.reproduction.size import FULL, QUICK


def test_the_quick_plan_is_smaller_in_everything():
    assert QUICK.owners <= FULL.owners
    for name in ("folds", "epochs", "steps", "voices"):
        assert getattr(QUICK, name) < getattr(FULL, name)
    for name in ("windows", "transport", "utterances"):
        assert getattr(QUICK, name) > 0
        assert getattr(FULL, name) is None  # all of them
    assert set(QUICK.epsilons) < set(FULL.epsilons)
    assert set(QUICK.features) < set(FULL.features)
    assert FULL.with_folds(None) == FULL
    assert FULL.with_folds(3) == replace(FULL, folds=3)


def test_what_was_limited_is_said_and_nothing_else():
    assert "At most 800 windows" in " ".join(QUICK.words)
    assert "learns from all windows" in " ".join(FULL.words)
    assert "At most" not in " ".join(FULL.words)
