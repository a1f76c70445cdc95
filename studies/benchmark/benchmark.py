"""The verb `bench`: its parts, each against a peer in the same run, in full or in short."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Any

from deeprotect.errors import InputError
from studies.benchmark.encoders import encoders
from studies.benchmark.growth import growth
from studies.benchmark.learning import evaluating, learning
from studies.benchmark.live import live
from studies.benchmark.noise_speed import noise
from studies.benchmark.ratio import Ratio
from studies.benchmark.start import start
from studies.benchmark.throughput import tables

VERSIONS = ("deeprotect", "numpy", "pyarrow", "torch", "onnxruntime", "opendp", "scikit-learn")
Measure = Callable[[], list[Ratio]]
Progress = Callable[[float], None]


@dataclass(frozen=True)
class BenchPart:
    """A group of measurements; it takes about this many seconds, for the progress bar. Some have no short form."""

    full: Measure
    seconds: float
    short: Measure | None = None


PARTS: Mapping[str, BenchPart] = {
    "noise": BenchPart(noise, 10, partial(noise, draws=1 << 16, repeats=3)),
    "encoder": BenchPart(encoders, 15, partial(encoders, windows=1024, repeats=3)),
    "live": BenchPart(live, 5),
    "start": BenchPart(start, 5, partial(start, repeats=3)),
    "tables": BenchPart(tables, 40, partial(tables, rows=200_000, kinds=("Parquet",), repeats=3)),
    "training": BenchPart(learning, 600),
    "evaluation": BenchPart(evaluating, 300),
    "growth": BenchPart(growth, 120),
}


@dataclass(frozen=True)
class BenchResults:
    """The ratios of each part of one run, and the versions that they are of."""

    parts: Mapping[str, Sequence[Ratio]]
    versions: Mapping[str, str]

    @property
    def ratios(self) -> list[Ratio]:
        return [ratio for part in self.parts.values() for ratio in part]

    def better_of(self, other: "BenchResults") -> "BenchResults":
        """Each ratio from the run in which it was better."""
        again = {each.key: each for each in other.ratios}
        parts = {
            name: [min(each, again.get(each.key, each), key=lambda ratio: ratio.times_worse(1.0)) for each in part]
            for name, part in self.parts.items()
        }
        return BenchResults(parts, self.versions)

    def to_json(self) -> dict[str, Any]:
        ratios = [{"part": name, **each.to_json()} for name, part in self.parts.items() for each in part]
        return {"schema": 1, "ratios": ratios, "versions": dict(self.versions)}


def measure_all(names: Sequence[str] = (), *, progress: Progress = lambda _: None) -> BenchResults:
    """Those parts, or all of them; half an hour in all."""
    return _measured({name: part.full for name, part in _chosen(names).items()}, progress)


def measure_short(names: Sequence[str] = (), *, progress: Progress = lambda _: None) -> BenchResults:
    """Measurements with a short form; a minute in all."""
    chosen = _chosen(names)
    for name in names:
        if chosen[name].short is None:
            raise InputError(f"--part {name} has no short form; leave out --short")
    return _measured({name: part.short for name, part in chosen.items() if part.short}, progress)


def _chosen(names: Sequence[str]) -> dict[str, BenchPart]:
    for name in names:
        if name not in PARTS:
            raise InputError(f"--part {name} is nothing that is measured; it can be: {', '.join(PARTS)}")
    return {name: part for name, part in PARTS.items() if name in names or not names}


def _measured(work: Mapping[str, Measure], progress: Progress) -> BenchResults:
    found: dict[str, list[Ratio]] = {}
    whole = sum(PARTS[name].seconds for name in work)
    for name, measure in work.items():
        found[name] = measure()
        progress(sum(PARTS[each].seconds for each in found) / whole)
    return BenchResults(found, _versions())


def _versions() -> dict[str, str]:
    found = {}
    for name in VERSIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
