import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.signals.joining import Joiner

CODES, VARIANTS = 3, 8
OUTPUTS = np.random.default_rng(0).uniform(size=(CODES, VARIANTS, 5, 2))
INDICES = st.lists(st.integers(0, CODES * VARIANTS - 1), max_size=60).map(lambda drawn: np.array(drawn, dtype=np.int64))


@given(INDICES)
def test_joining_keeps_every_code(index):
    assert np.array_equal(Joiner(OUTPUTS).join(index) // VARIANTS, index // VARIANTS)


@given(INDICES)
def test_what_comes_later_never_changes_what_came_before(index):
    joiner = Joiner(OUTPUTS)
    assert np.array_equal(joiner.join(index)[: len(index) // 2], joiner.join(index[: len(index) // 2]))


def test_joined_windows_jump_less_at_their_borders():
    index = np.random.default_rng(1).integers(0, CODES * VARIANTS, 400)
    windows = OUTPUTS.reshape(-1, 5, 2)

    def jump(order):
        return np.abs(windows[order[1:], 0] - windows[order[:-1], -1]).mean()

    assert jump(Joiner(OUTPUTS).join(index)) < 0.8 * jump(index)


def test_every_variant_that_is_near_has_its_turn():
    index = np.random.default_rng(2).integers(0, VARIANTS, 400)  # one code only
    assert len(set(Joiner(OUTPUTS[:1]).join(index).tolist())) >= 4


def test_one_variant_and_no_window_are_fine():
    joiner = Joiner(OUTPUTS[:, :1])
    assert joiner.join(np.array([2, 0, 1])).tolist() == [2, 0, 1]
    assert joiner.join(np.array([], dtype=np.int64)).tolist() == []
