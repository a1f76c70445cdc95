"""Writing results, tables, figures and page; each file appears whole or not at all."""

import json
import platform
from importlib.metadata import version
from pathlib import Path

from deeprotect.errors import InputError
from deeprotect.evaluation.report.page import Page
from deeprotect.evaluation.report.tables import tables
from deeprotect.evaluation.results import Results
from deeprotect.release.sinks import whole_file
from deeprotect.version import __version__

FIGURES = "figures"
TABLES = "tables"


def make_folder(out: Path) -> None:
    """Before the work begins: a wrong path should not cost a minute."""
    try:
        for name in (FIGURES, TABLES):
            (out / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be made a folder ({error.strerror}); give another --out") from None


def write(out: Path, results: Results, page: Page) -> None:
    """The page comes last: where it stands, all it speaks of stands, too."""
    make_folder(out)
    for drawing in (drawing for group in page.groups for drawing in group.drawings):
        _write(out / FIGURES / f"{drawing.name}.svg", drawing.svg_file().encode())
        _write(out / FIGURES / f"{drawing.name}.png", drawing.png())
    for name, text in tables(results).items():
        _write_table(out / TABLES / name, text)
    text = json.dumps(results.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
    _write(out / "results.json", f"{text}\n".encode())
    _write(out / "report.html", page.render(results).encode())


def versions() -> dict[str, str]:
    """What the numbers depend on."""
    packages = {name: version(name) for name in ("numpy", "scikit-learn", "torch")}
    return {"deeprotect": __version__, "Python": platform.python_version(), **packages}


def _write_table(path: Path, text: str) -> None:
    """A table without lines is not written, and one of an earlier run does not stay beside newer results."""
    if text:
        _write(path, text.encode())
    else:
        path.unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    with whole_file(path) as stream:
        stream.write(content)
