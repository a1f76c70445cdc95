"""Writing results, tables (CSV: tidy, one fact per line), figures and page, all or nothing."""

import csv
import io
import json
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from deeprotect.evaluation.report.drawing import Drawing
from deeprotect.evaluation.report.page import Page
from deeprotect.evaluation.results import DIGITS, Confusion, Line, Results, Row
from deeprotect.tables.atomic import files_into, whole_file
from deeprotect.version import __version__

_PEOPLE = {"met": "known", "strangers": "new"}


def tables(results: Results) -> dict[str, str]:
    """The text of each table by file name; empty for a table without lines."""
    rows = results.rows
    contents = {
        "results": [line for row in rows for line in row.lines],
        "apps": [line for row in rows for line in _own_apps(row)],
        "recall": [line for row in rows for line in _recalls(row)],
        "attackers": [line for row in rows for line in _attackers(row)],
        "pooled": [line for row in rows for line in _pooled(row)],
        "confusion": [line for row in rows for line in _confusions(row)],
        "signal": [row.head | {"channel": name, "mae": error} for row in rows for name, error in row.signal.items()],
        "new_people": [{"people": _PEOPLE[who]} | line for who, row in results.strangers.items() for line in row.lines],
        "form": [asdict(check) for check in results.form],
    }
    return {f"{name}.csv": csv_text(lines) for name, lines in contents.items()}


def _own_apps(row: Row) -> Iterator[Line]:
    for name, facts in row.useful.items():
        for app, each in facts.apps.items():
            low, high = each.app_ci
            read = {"clean": each.clean, "released": each.app, "released_low": low, "released_high": high}
            yield row.head | {"inference": name, "app": app} | read | {"retrained": each.retrained}


def _recalls(row: Row) -> Iterator[Line]:
    for name, facts in row.useful.items():
        for each in facts.recall:
            read = {"windows": each.windows, "clean": each.clean, "app": each.app}
            yield row.head | {"inference": name, "class": each.name} | read


def _attackers(row: Row) -> Iterator[Line]:
    for name, facts in row.sensitive.items():
        for attacker, accuracy in facts.attackers.items():
            yield row.head | {"inference": name, "attacker": attacker, "accuracy": accuracy}


def _pooled(row: Row) -> Iterator[Line]:
    for name, facts in row.sensitive.items():
        for size in sorted({*facts.pooled, *facts.pooled_raw}):
            both = {"accuracy": facts.pooled.get(size), "raw": facts.pooled_raw.get(size)}
            both |= {"blind": facts.pooled_blind.get(size), "at_most": facts.at_most.get(size)}
            yield row.head | {"inference": name, "windows": size} | both


def _confusions(row: Row) -> Iterator[Line]:
    for role, group in (("useful", row.useful), ("sensitive", row.sensitive)):
        for name, facts in group.items():
            for cell in _cells(facts.confusion):
                yield row.head | {"role": role, "inference": name} | cell


def _cells(confusion: Confusion | None) -> Iterator[Line]:
    """Cells that count a window; with many classes most are empty."""
    if confusion is None:
        return
    for truth, counts in zip(confusion.classes, confusion.counts, strict=True):
        for guess, count in zip(confusion.classes, counts, strict=True):
            if count:
                yield {"truth": truth, "read_as": guess, "windows": count}


def csv_text(lines: Sequence[Line]) -> str:
    """Columns in the order of their first appearance; missing values are empty."""
    if not lines:
        return ""
    buffer = io.StringIO()
    columns = list(dict.fromkeys(name for line in lines for name in line))
    writer = csv.DictWriter(buffer, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _plain(value) for name, value in line.items()} for line in lines)
    return buffer.getvalue()


def _plain(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value


FIGURES = "figures"
TABLES = "tables"
REPORT = ("report.html", "results.json", FIGURES, TABLES)
"""Files of a report; a folder that contains one of these contains a report."""


def write(out: Path, results: Results, page: Page) -> None:
    """Write everything or nothing; a table without lines is not written, and an earlier run's is removed."""
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
    """Versions that the numbers depend on."""
    packages = {name: version(name) for name in ("numpy", "scikit-learn", "torch")}
    return {"deeprotect": __version__, "Python": platform.python_version(), **packages}


def write_file(path: Path, content: bytes) -> None:
    with whole_file(path) as stream:
        stream.write(content)
