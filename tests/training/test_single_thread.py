"""One thread for small networks."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from deeprotect.training.trainer import single_thread


def _threads() -> set[int]:
    """Threads used by matrix products, trees and networks."""
    return {each["num_threads"] for each in threadpool_info()} | {torch.get_num_threads()}


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    with threadpool_limits(2):
        torch.set_num_threads(2)
        yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_training_on_one_thread_leaves_the_number_of_threads_as_it_was() -> None:
    before = _threads()
    with suppress(RuntimeError), single_thread():
        assert _threads() == {1}
        raise RuntimeError
    assert _threads() == before == {2}
