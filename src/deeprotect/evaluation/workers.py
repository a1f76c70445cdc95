"""Worker processes that end with the process that started them, however it ends; or workers of a Dask cluster."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import Any

import joblib

from deeprotect.errors import DeeprotectError, InputError, printable

LOOK_S = 1.0  # between two checks that the parent is alive
ANSWER_S = 5  # time for a scheduler to answer
Jobs = int | str
"""Number of processes, 1 for this one alone; or the address of a Dask scheduler."""
Pool = Callable[[Iterable[Any]], Iterator[Any]]
"""Takes calls made with `joblib.delayed`; yields results as they are ready."""


@contextmanager
def workers(jobs: Jobs) -> Iterator[Pool]:
    """A pool of workers."""
    with _processes(jobs) if isinstance(jobs, int) else _cluster(jobs) as pool:
        yield pool


@dataclass(frozen=True)
class ClusterPool:
    """Workers of a Dask cluster, which share no disk with this process, so that data is sent to them."""

    client: Any

    def __call__(self, calls: Iterable[Any]) -> Iterator[Any]:
        from distributed import KilledWorker, as_completed

        futures = [self.client.submit(work, *given, pure=False, **named) for work, given, named in calls]
        try:
            for future in as_completed(futures):
                yield future.result()
        except KilledWorker:
            raise DeeprotectError("the cluster kept losing its workers; see their logs") from None
        finally:
            self.client.cancel(futures)

    def keep(self, value: Any) -> Any:
        """Store a value on the cluster and return a reference to pass to calls."""
        return self.client.scatter(value, hash=False)


@contextmanager
def _cluster(address: str) -> Iterator[ClusterPool]:
    from distributed import Client

    try:
        client = Client(address, timeout=ANSWER_S)
    except (OSError, ValueError):
        line = f"no Dask scheduler answers at {printable(address)}; start one, or correct the address"
        raise InputError(line) from None
    with client:
        try:
            client.run(_has_package)
        except Exception:
            raise InputError(
                "the cluster's workers cannot run deeprotect; install deeprotect[evaluate,dask] there, same version"
            ) from None
        yield ClusterPool(client)


def _has_package() -> None:
    import deeprotect.evaluation.runner  # noqa: F401


@contextmanager
def _processes(jobs: int) -> Iterator[joblib.Parallel]:
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


def dispatch(pool: Pool, calls: Iterable[Any]) -> Iterator[Any]:
    """Yield results of calls. Workers ignore Ctrl-C, which a terminal sends to all; this process stops them."""
    with _deaf():
        results: Iterator[Any] = pool(calls)
    return results


@contextmanager
def _deaf() -> Iterator[None]:
    """Block signals; processes started meanwhile keep them blocked permanently."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    waiting = {signal.SIGINT, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waiting)
    try:
        resource_tracker.ensure_running()  # starts a process, after which Python 3.11 unblocks signals
        signal.pthread_sigmask(signal.SIG_BLOCK, waiting)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(parent: int) -> None:
    """In a worker, watch the parent: if it is killed, it cannot stop the worker."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
