"""Several items worked on at once, results in the order of the items."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(work: Callable[[Item], Result], items: Iterable[Item], *, workers: int) -> Iterator[tuple[Item, Result]]:
    """Each item with what `work` made of it; at most one item more than there are threads is under way at a time.

    Items are taken and results given in the caller's thread. A failure appears where its result would have.
    """
    if workers <= 1:
        yield from ((item, work(item)) for item in items)
        return
    under_way = deque[tuple[Item, Future[Result]]]()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="encode")
    try:
        for item in items:
            under_way.append((item, pool.submit(work, item)))
            if len(under_way) > workers:
                first, future = under_way.popleft()
                yield first, future.result()
        while under_way:
            first, future = under_way.popleft()
            yield first, future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def encoding_threads() -> int:
    """As many as cores that this process may use, but for one that writes; at least one.

    Of two cores, a second thread that encodes took a quarter more of the processor, and gained nothing by the clock.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores - 1)
