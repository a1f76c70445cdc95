"""Randomness for a release comes from the operating system and from nowhere else."""

import numpy as np
import pytest

from deeprotect.errors import EntropyError
from deeprotect.privacy.entropy import SeededEntropy, SystemEntropy, require_system


def test_system_words_never_repeat_and_use_all_64_bits():
    words = np.concatenate([SystemEntropy().words(500), SystemEntropy().words(500)])
    assert len(np.unique(words)) == 1000
    ones = (words[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)).sum(axis=0).astype(int)
    assert (np.abs(ones - 500) < 120).all()  # 7.6 standard deviations


def test_seeded_words_repeat_with_the_seed_and_differ_without():
    assert (SeededEntropy(3).words(10) == SeededEntropy(3).words(10)).all()
    assert (SeededEntropy(3).words(10) != SeededEntropy(4).words(10)).all()


def test_no_words_can_be_asked_for():
    assert SystemEntropy().words(0).size == SeededEntropy(0).words(0).size == 0


def test_a_release_accepts_system_entropy():
    entropy = SystemEntropy()
    assert require_system(entropy) is entropy


def test_no_other_source_can_be_hung_on_what_a_release_accepts():
    entropy = SystemEntropy()
    with pytest.raises(AttributeError):
        entropy.words = SeededEntropy(1).words


class _Subclass(SystemEntropy):
    def words(self, count):
        return np.zeros(count, dtype=np.uint64)


@pytest.mark.parametrize("entropy", [SeededEntropy(1), _Subclass(), object()])
def test_a_release_refuses_every_other_source(entropy):
    with pytest.raises(EntropyError, match=r"SystemEntropy\(\)"):
        require_system(entropy)


def test_seeded_entropy_is_not_a_kind_of_system_entropy():
    assert not issubclass(SeededEntropy, SystemEntropy)
    assert not issubclass(SystemEntropy, SeededEntropy)


def test_neither_a_seed_nor_the_environment_fixes_system_words(monkeypatch):
    drawn = []
    for _ in range(2):
        for name in ("DEEPROTECT_SEED", "DEEPROTECT_ENTROPY", "PYTHONHASHSEED", "SEED"):
            monkeypatch.setenv(name, "0")
        np.random.seed(0)
        drawn.append(SystemEntropy().words(4))
    assert (drawn[0] != drawn[1]).all()
