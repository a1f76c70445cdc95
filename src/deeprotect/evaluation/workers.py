"""Calls in this process, or in several that share arrays through files."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import joblib

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class Workers:
    """A pool of `jobs` processes, this one alone where that is 1; results come as they are ready."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._parallel = joblib.Parallel(n_jobs=jobs, backend="loky", return_as="generator_unordered")

    def __enter__(self) -> "Workers":
        if self._jobs > 1:
            self._parallel.__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        if self._jobs > 1:
            self._parallel.__exit__(*failure)

    def __call__(self, calls: Sequence[Call]) -> Iterator[Any]:
        if self._jobs == 1:
            return (function(*arguments, **named) for function, arguments, named in calls)
        results: Iterator[Any] = self._parallel(calls)
        return results
