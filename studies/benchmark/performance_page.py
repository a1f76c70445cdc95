"""docs/performance.md, made from a run: the figures are the run's, the words around them stand here."""

from collections.abc import Sequence
from pathlib import Path

from deeprotect.evaluation.report.report_files import write_file, write_json
from deeprotect.tables.atomic import files_into
from studies.benchmark.benchmark import BenchResults
from studies.benchmark.picture import draw
from studies.benchmark.ratio import Ratio

TITLES = {
    "noise": "Noise",
    "encoder": "The encoder, in plain numpy",
    "live": "A live stream",
    "start": "Starting up",
    "tables": "Whole tables",
    "training": "Training",
    "evaluation": "Evaluation",
    "growth": "Growth",
}
_WORDS = Path(__file__).with_name("performance.md")


def write(out: Path, results: BenchResults) -> None:
    """bench.json, bench.svg and performance.md, which shows it."""
    with files_into(out) as folder:
        write_json(folder / "bench.json", results.to_json())
        write_file(folder / "bench.svg", draw(results).svg_file().encode())
        write_file(folder / "performance.md", page(results).encode())


def page(results: BenchResults) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in results.versions.items())
    tables = "\n".join(f"### {TITLES[name]}\n\n{_table(ratios)}" for name, ratios in results.parts.items())
    return _WORDS.read_text().replace("{versions}", versions).replace("{tables}", tables)


def _table(ratios: Sequence[Ratio]) -> str:
    lines = [f"| {each.what} | {each.peer} | {each.quantity} | {each.ratio:.3g} |" for each in ratios]
    return "\n".join(["| what | against | quantity | ratio |", "|---|---|---|---|", *lines, ""])
