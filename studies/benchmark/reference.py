"""Ratios held against those of a reference run: what became worse by more than a third."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from deeprotect.errors import InputError
from studies.benchmark.benchmark import BenchResults
from studies.benchmark.ratio import Key, Ratio

WORSE = 1.5
"""A throughput below two thirds, or a time or a memory above three halves, of the reference's."""
TRIES = 5
Measure = Callable[[Sequence[str]], BenchResults]
"""Some parts again, or without names all that are wanted."""


def read_reference(path: Path) -> dict[Key, float]:
    """Measurements by subject, peer and quantity, from a file written by `bench --json`."""
    try:
        ratios = [Ratio.from_json(each) for each in json.loads(path.read_text())["ratios"]]
    except (OSError, ValueError, TypeError, KeyError):
        raise InputError(f"{path}: not the ratios of a run; write them with `python -m studies bench --json`") from None
    return {each.key: each.ratio for each in ratios}


def held_against(measure: Measure, reference: Mapping[Key, float]) -> tuple[BenchResults, list[str]]:
    """The best ratios of up to five runs, and a line for each that is worse in all: others may disturb some.

    Only parts with a ratio that is worse so far are measured again.
    """
    best = measure(())
    for _ in range(TRIES - 1):
        worse = _worse(best, reference)
        if not worse:
            break
        best = best.better_of(measure([name for name, part in best.parts.items() if {*part} & {*worse}]))
    return best, [_line(each, reference[each.key]) for each in _worse(best, reference)]


def _worse(found: BenchResults, reference: Mapping[Key, float]) -> list[Ratio]:
    known = [each for each in found.ratios if each.key in reference]
    return [each for each in known if each.times_worse(reference[each.key]) > WORSE]


def _line(found: Ratio, reference: float) -> str:
    return (
        f"{found.what}, {found.quantity} against {found.peer}: {found.ratio:.3g}, the reference is {reference:.3g}: "
        f"{found.times_worse(reference):.2f} times worse"
    )
