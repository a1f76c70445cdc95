"""Writing a reproduction: results, tables, figures, sounds, and last the page; each file whole or not at all."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from deeprotect.evaluation.report.csv_tables import tables
from deeprotect.evaluation.report.report_files import (
    FIGURES,
    TABLES,
    make_folders,
    versions,
    write_drawings,
    write_file,
    write_json,
)
from deeprotect.evaluation.results import SCHEMA
from deeprotect.reproduction.case_page import CaseLayout, render

AUDIO = "audio"


def make_folder(out: Path) -> None:
    """Before the work begins: a wrong path should not cost half an hour."""
    make_folders(out, FIGURES, TABLES, AUDIO)


def write(
    out: Path, layouts: Sequence[CaseLayout], *, missing: Sequence[str], caps: Sequence[str], command: str, seed: int
) -> None:
    """The page comes last: where it stands, all it speaks of stands, too."""
    run = {"command": command, "seed": seed, "versions": versions()}
    for layout in layouts:
        write_drawings(out, layout.drawings)
        for name, text in _tables(layout).items():
            write_file(out / TABLES / name, text.encode())
        for sample in layout.result.samples:
            for name, content in sample.files().items():
                write_file(out / AUDIO / name, content)
    body = {
        "schema": SCHEMA,
        "cases": [result.to_json() for layout in layouts for result in layout.result.experiments],
        "paper": [{"case": name, **asdict(line)} for layout in layouts for name, line in layout.comparisons],
        "missing": missing,
        "caps": caps,
        "run": run,
    }
    write_json(out / "results.json", body)
    write_file(out / "report.html", render(layouts, missing=missing, caps=caps, run=run).encode())


def _tables(layout: CaseLayout) -> dict[str, str]:
    """The tables of every report, for each experiment; and the paper's numbers beside ours."""
    found = {
        f"{result.experiment.name}-{name}": text
        for result in layout.result.experiments
        for name, text in tables(result.results).items()
        if text
    }
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["part", "what", "paper", "ours", "why"])
    writer.writerows([name, *asdict(line).values()] for name, line in layout.comparisons)
    return {f"{layout.result.case.number}-paper.csv": buffer.getvalue(), **found}
