"""One thread for small networks."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def single_thread() -> Iterator[None]:
    """Layers of a few hundred weights gain nothing from a second thread, and waiting for one costs 10× on busy cores.

    Results do not depend on the number of cores, either.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
