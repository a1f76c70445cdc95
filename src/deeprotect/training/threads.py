"""One thread for small networks, and for what is fitted beside them."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits


@contextmanager
def single_thread() -> Iterator[None]:
    """Layers of a few hundred weights gain nothing from a second thread, and waiting for one costs 10× on busy cores.

    Results do not depend on the number of cores, either: products of matrices add up in another order on two threads,
    and one last digit of a scale is enough for other noise.
    """
    before = torch.get_num_threads()
    with threadpool_limits(1):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)
