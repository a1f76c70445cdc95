"""Writing results, tables, figures and page: all of them, or none."""

import json
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from deeprotect.evaluation.report.csv_tables import tables
from deeprotect.evaluation.report.figures import Drawing
from deeprotect.evaluation.report.page import Page
from deeprotect.evaluation.results import Results
from deeprotect.tables.atomic import files_into, whole_file
from deeprotect.version import __version__

FIGURES = "figures"
TABLES = "tables"
REPORT = ("report.html", "results.json", FIGURES, TABLES)
"""What a report is made of; a folder that holds one of these holds a report."""


def write(out: Path, results: Results, page: Page) -> None:
    """All of it or none; a table without lines is not written, and one of an earlier run does not stay."""
    texts = tables(results)
    with files_into(out) as folder:
        write_drawings(folder, (drawing for group in page.groups for drawing in group.drawings))
        write_tables(folder, {name: text for name, text in texts.items() if text})
        write_json(folder / "results.json", results.to_json())
        write_file(folder / "report.html", page.render(results).encode())
    for name in (name for name, text in texts.items() if not text):
        (out / TABLES / name).unlink(missing_ok=True)


def write_tables(out: Path, texts: Mapping[str, str]) -> None:
    (out / TABLES).mkdir(exist_ok=True)
    for name, text in texts.items():
        write_file(out / TABLES / name, text.encode())


def write_drawings(out: Path, drawings: Iterable[Drawing]) -> None:
    (out / FIGURES).mkdir(exist_ok=True)
    for drawing in drawings:
        write_file(out / FIGURES / f"{drawing.name}.svg", drawing.svg_file().encode())
        write_file(out / FIGURES / f"{drawing.name}.png", drawing.png())


def write_json(path: Path, content: Any) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    write_file(path, f"{text}\n".encode())


def versions() -> dict[str, str]:
    """What the numbers depend on."""
    packages = {name: version(name) for name in ("numpy", "scikit-learn", "torch")}
    return {"deeprotect": __version__, "Python": platform.python_version(), **packages}


def write_file(path: Path, content: bytes) -> None:
    with whole_file(path) as stream:
        stream.write(content)
