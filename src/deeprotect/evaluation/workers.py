"""Worker processes that end with the process that started them, however that one ends."""

import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from typing import Any

import joblib

LOOK_S = 1.0  # between two looks whether the parent is still there


@contextmanager
def workers(jobs: int) -> Iterator[joblib.Parallel]:
    """So many processes, or this one alone where that is 1; results come as they are ready."""
    parallel = joblib.Parallel(
        n_jobs=jobs,
        backend="loky",
        return_as="generator_unordered",
        initializer=_end_with,
        initargs=(os.getpid(),),
    )
    with ExitStack() as stack:
        with _deaf():
            stack.enter_context(parallel)
        yield parallel


def dispatch(parallel: joblib.Parallel, calls: Iterable[Any]) -> Iterator[Any]:
    """Results of calls. Workers are deaf to Ctrl-C, which a terminal sends to all: this process stops them."""
    with _deaf():
        results: Iterator[Any] = parallel(calls)
    return results


@contextmanager
def _deaf() -> Iterator[None]:
    """Signals wait meanwhile; processes started here keep them waiting for good."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    waiting = {signal.SIGINT, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waiting)
    try:
        resource_tracker.ensure_running()  # a process of multiprocessing's; Python 3.11 lets signals through after it
        signal.pthread_sigmask(signal.SIG_BLOCK, waiting)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(parent: int) -> None:
    """In a worker: a parent that was killed cannot stop it, so it looks itself."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
