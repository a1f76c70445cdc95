"""One thread for small networks."""

from contextlib import suppress

import torch

from deeprotect.training.threads import single_thread


def test_training_on_one_thread_leaves_the_number_of_threads_as_it_was() -> None:
    before = torch.get_num_threads()
    with suppress(RuntimeError), single_thread():
        assert torch.get_num_threads() == 1
        raise RuntimeError
    assert torch.get_num_threads() == before
