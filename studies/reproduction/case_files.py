"""Writing a reproduction: results, tables, figures, sounds and the page, all of them or none."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from deeprotect.evaluation.report.report_files import (
    csv_text,
    tables,
    versions,
    write_drawings,
    write_file,
    write_json,
    write_tables,
)
from deeprotect.evaluation.results import SCHEMA
from deeprotect.tables.atomic import files_into
from studies.reproduction.case_page import CaseLayout, render
from studies.reproduction.case_result import ExperimentResult

AUDIO = "audio"


def write(
    out: Path, layouts: Sequence[CaseLayout], *, missing: Sequence[str], caps: Sequence[str], command: str, seed: int
) -> None:
    """Write everything or nothing."""
    run = {"command": command, "seed": seed, "versions": versions()}
    with files_into(out) as folder:
        for layout in layouts:
            write_drawings(folder, layout.drawings)
            write_tables(folder, _tables(layout))
            _write_sounds(folder, layout)
        write_json(folder / "results.json", _body(layouts, missing=missing, caps=caps, run=run))
        write_file(folder / "report.html", render(layouts, missing=missing, caps=caps, run=run).encode())


def _write_sounds(out: Path, layout: CaseLayout) -> None:
    for sample in layout.result.samples:
        (out / AUDIO).mkdir(exist_ok=True)
        for name, content in sample.files().items():
            write_file(out / AUDIO / name, content)


def _body(
    layouts: Sequence[CaseLayout], *, missing: Sequence[str], caps: Sequence[str], run: dict[str, Any]
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "cases": [result.to_json() for layout in layouts for result in layout.result.experiments],
        "paper": [{"case": name, **asdict(line)} for layout in layouts for name, line in layout.comparisons],
        "missing": missing,
        "caps": caps,
        "run": run,
    }


def _tables(layout: CaseLayout) -> dict[str, str]:
    """The tables of every report, for each experiment; and the paper's numbers beside ours."""
    found = {
        f"{result.experiment.name}-{name}": text
        for result in layout.result.experiments
        for name, text in (*tables(result.results).items(), ("features.csv", _features(result)))
        if text
    }
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["part", "what", "paper", "ours", "why"])
    writer.writerows([name, *asdict(line).values()] for name, line in layout.comparisons)
    return {f"{layout.result.case.number}-paper.csv": buffer.getvalue(), **found}


def _features(result: ExperimentResult) -> str:
    """Ridge accuracy of each kind and number of features."""
    found = []
    for point in result.points:
        line = {name: value for name, value in asdict(point).items() if name not in ("accuracy_ci", "informativeness")}
        told = {"informativeness": sum(point.informativeness) / max(1, len(point.informativeness))}
        found.append(line | dict(zip(("accuracy_low", "accuracy_high"), point.accuracy_ci, strict=True)) | told)
    return csv_text(found)
