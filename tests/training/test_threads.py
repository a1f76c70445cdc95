"""One thread for small networks."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
import torch

from deeprotect.training.threads import single_thread


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_training_on_one_thread_leaves_the_number_of_threads_as_it_was() -> None:
    with suppress(RuntimeError), single_thread():
        assert torch.get_num_threads() == 1
        raise RuntimeError
    assert torch.get_num_threads() == 2
