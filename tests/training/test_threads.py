"""One thread for small networks."""

from contextlib import suppress

import torch
from threadpoolctl import threadpool_info

from deeprotect.training.threads import single_thread


def test_training_on_one_thread_leaves_the_number_of_threads_as_it_was() -> None:
    before = torch.get_num_threads()
    with suppress(RuntimeError), single_thread():
        assert torch.get_num_threads() == 1
        raise RuntimeError
    assert torch.get_num_threads() == before


def test_products_and_trees_have_one_thread_too_so_that_results_are_the_same_on_any_machine() -> None:
    before = [each["num_threads"] for each in threadpool_info()]
    with single_thread():
        assert {each["num_threads"] for each in threadpool_info()} == {1}
    assert [each["num_threads"] for each in threadpool_info()] == before
