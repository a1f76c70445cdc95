"""Writing results, tables, figures and page; each file appears whole or not at all."""

import json
import platform
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from deeprotect.errors import InputError
from deeprotect.evaluation.report.csv_tables import tables
from deeprotect.evaluation.report.figures import Drawing
from deeprotect.evaluation.report.page import Page
from deeprotect.evaluation.results import Results
from deeprotect.tables.atomic import whole_file
from deeprotect.version import __version__

FIGURES = "figures"
TABLES = "tables"


def make_folders(out: Path, *inside: str) -> None:
    """Before the work begins: a wrong path should not cost a minute."""
    try:
        for folder in (out, *(out / name for name in inside)):
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be made a folder ({error.strerror}); give another --out") from None


def write(out: Path, results: Results, page: Page) -> None:
    """The page comes last: where it stands, all it speaks of stands, too."""
    make_folders(out, FIGURES, TABLES)
    write_drawings(out, (drawing for group in page.groups for drawing in group.drawings))
    for name, text in tables(results).items():
        _write_table(out / TABLES / name, text)
    write_json(out / "results.json", results.to_json())
    write_file(out / "report.html", page.render(results).encode())


def write_drawings(out: Path, drawings: Iterable[Drawing]) -> None:
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


def _write_table(path: Path, text: str) -> None:
    """A table without lines is not written, and one of an earlier run does not stay beside newer results."""
    if text:
        write_file(path, text.encode())
    else:
        path.unlink(missing_ok=True)


def write_file(path: Path, content: bytes) -> None:
    with whole_file(path) as stream:
        stream.write(content)
